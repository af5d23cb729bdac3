"""Pairs of a name and a text out of JSON that stands anywhere in a reply."""

import json
from collections.abc import Iterator
from typing import Any

MOST_ATTEMPTS = 200  # opening brackets that are tried
MOST_NUMBER = 1e15
NAME_KEYS = ("school", "school_name", "name")
TIME_KEYS = ("proposed", "proposed_time", "new", "new_time", "start_time", "proposed_start_time", "start", "time")


class _Object(list[tuple[str, Any]]):
    """A JSON object as its pairs, so that a key said twice is not lost."""


def proposals(text: str) -> Iterator[list[tuple[str, str]]]:
    """Every JSON object of texts, and every list of objects with a name and a time, as pairs in order."""
    for value in _values(text):
        stack = [value]
        while stack:
            found = stack.pop()
            inner = [value for _, value in found] if isinstance(found, _Object) else found
            pairs = _of_object(found) if isinstance(found, _Object) else _of_list(found)
            if pairs:
                yield pairs
            stack += [value for value in reversed(inner) if isinstance(value, list)]


def _values(text: str) -> Iterator[list[Any]]:
    decoder, place = json.JSONDecoder(object_pairs_hook=_Object), 0
    for _ in range(MOST_ATTEMPTS):
        starts = [start for start in (text.find("{", place), text.find("[", place)) if start >= 0]
        if not starts:
            return
        place = min(starts)
        try:
            value, place = decoder.raw_decode(text, place)
            yield value
        except (ValueError, RecursionError):
            place += 1


def _of_object(found: _Object) -> list[tuple[str, str]]:
    pairs = [(key, _time(value) if isinstance(value, _Object) else value) for key, value in found]
    return [(key, value) for key, value in pairs if isinstance(value, str)]


def _of_list(found: list[Any]) -> list[tuple[str, str]]:
    objects = [dict(one) for one in found if isinstance(one, _Object)]
    pairs = [(next((one[key] for key in NAME_KEYS if key in one), None), _time(one.items())) for one in objects]
    return [(name, time) for name, time in pairs if isinstance(name, str) and isinstance(time, str)]


def _time(pairs: Any) -> Any:
    known = dict(pairs)
    return next((known[key] for key in TIME_KEYS if key in known), None)


def objects(text: str) -> Iterator[list[tuple[str, float]]]:
    """Every JSON object of finite numbers that stands in a text, as pairs in order."""
    for value in _values(text):
        stack = [value]
        while stack:
            found = stack.pop()
            inner = [one for _, one in found] if isinstance(found, _Object) else found
            if isinstance(found, _Object):
                numbers = [(key, float(one)) for key, one in found if _is_number(one)]
                if numbers:
                    yield numbers
            stack += [one for one in reversed(inner) if isinstance(one, list)]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < MOST_NUMBER
