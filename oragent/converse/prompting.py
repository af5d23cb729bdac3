"""Prompt templates: the text files of ``converse/prompts``, and of a folder of prompts elsewhere in the package."""

from functools import lru_cache
from importlib.resources import files
from string import Template

PROMPTS = "prompts"
MARKS = str.maketrans({"`": "'", "#": " ", "\n": " ", "\r": " "})


def fill_template(template: str, folder: str = PROMPTS, **values: object) -> str:
    """Fill a prompt template, by its name; values are inserted as they are and never filled themselves."""
    return _load_template(template, folder).substitute({name: str(value) for name, value in values.items()}).strip()


def quote_line(text: str) -> str:
    """A name of a stranger's on one line, without marks that begin a section, a fence or a new speaker."""
    return " ".join(text.translate(MARKS).split())[:200]


@lru_cache
def _load_template(name: str, folder: str) -> Template:
    return Template((files("oragent.converse") / folder / f"{name}.txt").read_text(encoding="utf-8"))
