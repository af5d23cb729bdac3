"""Prompt templates: the text files of ``search/prompts``.

``NAME.STYLE.txt`` is the wording for models of a style, where theirs differs from that of ``NAME.txt``.
"""

from functools import lru_cache
from importlib.resources import files
from string import Template


def fill_template(template: str, style: str = "", /, **values: object) -> str:
    """Fill a prompt template, by its name, in the wording of a style."""
    return _read_template(template, style).substitute({name: str(value) for name, value in values.items()}).strip()


@lru_cache
def _read_template(name: str, style: str) -> Template:
    folder = files("oragent.search") / "prompts"
    styled = folder / f"{name}.{style}.txt"
    return Template((styled if style and styled.is_file() else folder / f"{name}.txt").read_text(encoding="utf-8"))
