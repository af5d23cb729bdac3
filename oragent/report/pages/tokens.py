"""Colours of all pages: one light and one dark set, used by the live page and by pages without scripts."""

from pathlib import Path

DARK = ':root[data-theme="dark"]'


def read_tokens() -> str:
    """Return the custom properties of both themes.

    The theme is that of the attribute ``data-theme`` of the page, else that of the reader's system.
    """
    text = Path(__file__).with_name("tokens.css").read_text(encoding="utf-8")
    dark = text[text.index(DARK) :].replace(DARK, ":root:not([data-theme])")
    return f"{text}@media (prefers-color-scheme: dark) {{ {dark} }}\n"
