"""JSON out of replies."""

import contextlib
import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.errors import ReplyError
from oragent.programs import replies
from oragent.programs.extract import extract_json

# A tag of thoughts or a fence inside a string is beyond us.
strings = st.text(st.characters(exclude_characters="<`~", exclude_categories=["Cs"]))
leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | strings
values = st.recursive(leaves, lambda inner: st.lists(inner) | st.dictionaries(strings, inner), max_leaves=8)
documents = st.lists(values) | st.dictionaries(strings, values)
prose = st.text(st.characters(exclude_characters="`~<>{}[]", exclude_categories=["Cs"]), max_size=30)


@pytest.mark.slow
@given(documents, prose, prose, st.sampled_from([None, 2]))
def test_a_document_between_prose_comes_back(document: Any, before: str, after: str, indent: int | None) -> None:
    text = json.dumps(document, indent=indent)
    assert extract_json(f"{before}{text}{after}") == document
    assert extract_json(f"{before}\n```json\n{text}\n```\n{after}") == document


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1, "b": [1, 2,],}', {"a": 1, "b": [1, 2]}),
        ("[1,\n  2 ,\n]", [1, 2]),
        ('{"a": ",]", "b": "\\",}",}', {"a": ",]", "b": '",}'}),  # commas inside strings stay
        ('{"idea": "two\nlines"}', {"idea": "two\nlines"}),
        ('The set {i, j} gives\n{"best": 3}', {"best": 3}),
        ('```python\nx = [1, 2]\n```\n```json\n{"best": 3}\n```', {"best": 3}),
        ("<think>[0]</think>[1]", [1]),
        ('Use [1, 2] then {"a": 3}', [1, 2]),
        ("```json\n[1, 2]", [1, 2]),
    ],
)
def test_json_is_read_tolerantly(text: str, value: Any) -> None:
    assert extract_json(text) == value


@pytest.mark.parametrize(
    "text", ["", "no brackets", "{not json}", "```json\n```", "3", '"text"', "[9" + "9" * 5000 + "]"]
)
def test_a_reply_without_json_is_told(text: str) -> None:
    with pytest.raises(ReplyError):
        extract_json(text)


@pytest.mark.parametrize("text", ['{"ideas": [1, 2], "best":', '{"idea": "nev', "[1, [2, 3],", '{"a": [1, 2]'])
def test_a_document_that_was_cut_off_is_not_taken_for_one_of_its_parts(text: str) -> None:
    with pytest.raises(ReplyError):
        extract_json(text)


def test_deep_nesting_is_an_error_of_the_reply() -> None:
    with pytest.raises(ReplyError):
        replies.extract_json("[" * 100_000)


@pytest.mark.slow
@given(st.text() | st.lists(st.sampled_from([*'{}[]",:1\\\n`', "```", "<think>"]), max_size=60).map("".join))
def test_any_text_gives_a_document_or_a_reply_error(text: str) -> None:
    try:
        found = replies.extract_json(text)
    except ReplyError:
        return
    assert isinstance(found, dict | list)


@pytest.mark.parametrize("part", ["[x ", '{"\\"', "[1,] ", "[1 ", '[x "\\"\\"', "```\n"])
def test_a_long_reply_is_read_in_little_time(part: str) -> None:
    begin = time.process_time()
    with contextlib.suppress(ReplyError):
        replies.extract_json(f"[y {part * 10_000}")
    assert time.process_time() - begin < 3.0
