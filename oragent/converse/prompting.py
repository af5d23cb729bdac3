"""Prompts of conversations, from templates of ``converse/prompts``."""

from oragent._base.prompt_templates import PromptFolder

fill_template = PromptFolder("oragent.converse").fill
MARKS = str.maketrans({"`": "'", "#": " ", "\n": " ", "\r": " "})


def quote_line(text: str) -> str:
    """Return an untrusted name on one line, without marks that start a section, a fence or a new speaker."""
    return " ".join(text.translate(MARKS).split())[:200]
