"""Text of strangers made fit to be shown: candidates, models, documents and files write it, so none is trusted."""

import re

__all__ = ["plain"]

# Control characters drive a terminal, bidirectional and invisible marks change what is read, lone surrogates cannot be
# written. Tabs and line ends stay.
UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")


def plain(text: str) -> str:
    """Show what cannot be seen as escapes; line ends become plain ones."""
    return UNSEEN.sub(lambda match: f"\\u{ord(match.group()):04x}", text.replace("\r\n", "\n"))
