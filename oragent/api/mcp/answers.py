"""Answers of tools: JSON of limited size, without secret keys of the environment."""

import os
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from oragent._base.documents import JsonValue, dump_json, to_plain
from oragent._base.errors import ConfigError
from oragent._base.text_format import escape_text, shorten_middle

# Maximum number of characters of an answer.
MAX_CHARACTERS = 9_000
# Limits of list entries and of text characters, tried in this order until the answer is short enough.
CUTS = ((100, 6000), (40, 2000), (20, 800), (10, 300), (5, 100), (2, 40))
PAGE = 20
# Number of characters per page of a text.
TEXT_PAGE = 3_000
SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)
# Minimum number of characters of a secret key.
MIN_SECRET_LENGTH = 8
HIDDEN = "[hidden]"
# Significant digits of numbers.
DIGITS = 10
# Fields of a figure.
INTERVAL = {"value", "low", "high"}


def write_answer(value: object, required: Collection[str] = (), root: Path | None = None) -> str:
    """Write a value as JSON of at most ``MAX_CHARACTERS``; cut lists and texts are marked.

    Empty fields are left out, except the required ones, and numbers have ten digits.

    Args:
        value: Dataclasses, models and plain data.
        required: Fields that stay if they are empty.
        root: Folder to which paths are written relatively.
    """
    plain = to_plain(value)
    if isinstance(plain, dict):
        plain = {name: _tidy(entry) for name, entry in plain.items() if name in required or not _is_empty(entry)}
    text = dump_json(plain)
    for items, characters in CUTS:
        if len(text) <= MAX_CHARACTERS:
            break
        text = dump_json(_cut(plain, items, characters))
    return hide_secrets(shorten_paths(text, root))


def shorten_paths(text: str, root: Path | None) -> str:
    """Write paths within a folder relatively to it."""
    if root is None or root == Path("/"):
        return text
    return text.replace(f"{root}{os.sep}", "").replace(str(root), ".")


def _is_empty(value: JsonValue) -> bool:
    return value is None or value == "" or value == [] or value == {}


def _tidy(value: JsonValue) -> JsonValue:
    """Leave out empty fields, digits beyond the tenth, and bounds that equal their value."""
    if isinstance(value, float):
        rounded = float(f"{value:.{DIGITS}g}")
        return int(rounded) if rounded.is_integer() and abs(rounded) < 10**DIGITS else rounded
    if isinstance(value, list):
        return [_tidy(entry) for entry in value]
    if isinstance(value, dict):
        if set(value) == INTERVAL and value["low"] == value["value"] == value["high"]:
            return {"value": _tidy(value["value"])}
        return {name: _tidy(entry) for name, entry in value.items() if not _is_empty(entry)}
    return value


def hide_secrets(text: str, environment: Mapping[str, str] | None = None) -> str:
    """Replace values of environment variables that contain keys."""
    for name, secret in (os.environ if environment is None else environment).items():
        if SECRET_NAME.search(name) and len(secret) >= MIN_SECRET_LENGTH:
            text = text.replace(secret, HIDDEN)
    return text


def quote_output(text: str, head: int = 300, tail: int = 700) -> str:
    """Return the output of an untrusted program, escaped and shortened."""
    return shorten_middle(escape_text(text.strip()), head, tail)


def page_of(entries: Sequence[object], page: int) -> dict[str, JsonValue]:
    """Return one page of a list: ``entries``, ``page``, ``pages``, ``total``.

    Raises:
        ConfigError: The page does not exist.
    """
    pages = max(1, -(-len(entries) // PAGE))
    if not 1 <= page <= pages:
        raise ConfigError(f"there is no page {page}: expected 1 to {pages}")
    shown = entries[(page - 1) * PAGE : page * PAGE]
    return {"entries": to_plain(shown), "page": page, "pages": pages, "total": len(entries)}


def page_of_text(text: str, page: int) -> dict[str, JsonValue]:
    """Return one page of a text: ``text``, and ``page`` and ``pages`` if there are several.

    Raises:
        ConfigError: The page does not exist.
    """
    pages = max(1, -(-len(text) // TEXT_PAGE))
    if not 1 <= page <= pages:
        raise ConfigError(f"there is no page {page}: expected 1 to {pages}")
    shown = escape_text(text[(page - 1) * TEXT_PAGE : page * TEXT_PAGE])
    return {"text": shown, "page": page, "pages": pages} if pages > 1 else {"text": shown}


def _cut(value: JsonValue, items: int, characters: int) -> JsonValue:
    if isinstance(value, str) and len(value) > characters:
        return f"{value[:characters]}... ({len(value) - characters} characters left out)"
    if isinstance(value, list):
        entries = [_cut(entry, items, characters) for entry in value[:items]]
        return [*entries, f"({len(value) - items} entries left out)"] if len(value) > items else entries
    if isinstance(value, dict):
        names = list(value)[:items]
        kept_names = {name: _cut(value[name], items, characters) for name in names}
        if len(value) > items:
            kept_names["(left out)"] = len(value) - items
        return kept_names
    return value
