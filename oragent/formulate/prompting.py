"""Prompt templates: the text files of ``formulate/prompts``."""

from functools import lru_cache
from importlib.resources import files
from string import Template


def fill(template: str, **values: object) -> str:
    """Fill a prompt template, by its name."""
    return _template(template).substitute({name: str(value) for name, value in values.items()}).strip()


@lru_cache
def _template(name: str) -> Template:
    return Template((files("oragent.formulate") / "prompts" / f"{name}.txt").read_text(encoding="utf-8"))
