"""Prompt templates: the text files of ``converse/prompts``."""

from functools import lru_cache
from importlib.resources import files
from string import Template

__all__ = ["fill", "quiet"]

MARKS = str.maketrans({"`": "'", "#": " ", "\n": " ", "\r": " "})


def fill(template: str, **values: object) -> str:
    """Fill a prompt template, by its name; values are inserted as they are and never filled themselves."""
    return _template(template).substitute({name: str(value) for name, value in values.items()}).strip()


def quiet(text: str) -> str:
    """A name of a stranger's on one line, without marks that begin a section, a fence or a new speaker."""
    return " ".join(text.translate(MARKS).split())[:200]


@lru_cache
def _template(name: str) -> Template:
    return Template((files("oragent.converse") / "prompts" / f"{name}.txt").read_text(encoding="utf-8"))
