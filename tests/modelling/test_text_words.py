"""Words of texts by position are those of ``str.split`` and of ``float``."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent.modelling.files import text_words
from oragent.modelling.files.text_words import MAX_WORD_BYTES, WordTable, words_of

LINES = st.lists(st.text("ab1.+ \té€", max_size=12), min_size=1, max_size=6)
NAMES = st.text("ab[,]é", min_size=1, max_size=20)


def every_word(text: str) -> tuple[text_words.TextWords, np.ndarray]:
    words = words_of(text)
    assert words is not None
    return words, np.arange(words.counts.sum())


@given(LINES, st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_lines_have_the_words_of_their_split(lines: list[str], end: str, is_ended: bool) -> None:
    text = end.join(lines) + end * is_ended
    words, every = every_word(text)
    expected = [line.split() for line in text.splitlines()]
    assert len(words) == len(expected)
    assert words.counts.tolist() == list(map(len, expected))
    assert words.first.tolist() == [sum(map(len, expected[:place])) for place in range(len(expected))]
    assert words.texts(every) == text.split()
    assert words.lengths(every).tolist() == [len(word.encode()) for word in text.split()]


@pytest.mark.parametrize(
    "sign", ["\x00", "\x01", "\x0b", "\x0c", "\x1c", "\x1f", "\r", "\x85", "\xa0", "\u2028", "\u3000", "\ud800"]
)
def test_texts_with_other_separators_have_no_words(sign: str) -> None:
    assert words_of(f"a b\nc{sign}d\n") is None
    assert words_of("a b\r\nc\td\n") is not None


def test_lines_with_a_word_at_the_margin_or_a_marker_are_stops() -> None:
    words = words_of(" a b\n\n* c\nd\n M 'MARKER' e\n  \n\tf\n MARKE\n xMARKERx MARKER\n *\n")
    assert words is not None
    assert words.stops("MARKER") == [3, 4, 8]
    assert words.entry_lines(0, 3).tolist() == [0]
    assert words.entry_lines(4, 10).tolist() == [4, 6, 7, 8, 9]
    # Characters beyond ASCII have several bytes.
    words = words_of(" é€é MARKER\n a\n € é\n MARKER\n")
    assert words is not None
    assert words.stops("MARKER") == [0, 3]


@given(st.lists(NAMES, min_size=1, max_size=12), st.data())
def test_runs_begin_where_the_word_changes(names: list[str], data: st.DataObject) -> None:
    repeated = [name for name in names for _ in range(data.draw(st.integers(1, 3)))]
    words, every = every_word(" ".join(repeated))
    assert words.runs(every).tolist() == [
        place for place, name in enumerate(repeated) if place == 0 or name != repeated[place - 1]
    ]
    assert words.runs(every[:0]).tolist() == []


@given(st.lists(NAMES, unique=True, min_size=1, max_size=30), st.data())
def test_words_are_found_in_a_table_as_in_a_list(names: list[str], data: st.DataObject) -> None:
    table = WordTable.of(names)
    chosen = data.draw(st.lists(st.sampled_from(names), min_size=1, max_size=9))
    words, every = every_word(" ".join(chosen))
    found = None if table is None else table.find(words, every)
    assert found is not None
    assert found.tolist() == [names.index(name) for name in chosen]
    other = data.draw(NAMES)
    words, every = every_word(" ".join([*chosen, other]))
    assert table is not None
    assert (table.find(words, every) is None) == (other not in names)


def test_names_that_are_no_words_are_not_in_a_table() -> None:
    longest = "x" * MAX_WORD_BYTES
    names = ["a b", longest, "c", "", f"{longest}y", "é" * (MAX_WORD_BYTES // 2), "é" * (MAX_WORD_BYTES // 2 + 1)]
    words, every = every_word(f"c {longest} {names[5]} {longest}y")
    assert WordTable.of(names) is None
    table = WordTable.of(names[:6])
    assert table is not None
    found = table.find(words, every[:3])
    assert found is not None
    assert found.tolist() == [2, 1, 5]
    assert table.find(words, every) is None
    assert WordTable.of([]) is None
    assert WordTable.of(["c", "d\x01"]) is None


def test_words_are_compared_beyond_their_hash_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_words, "_hash_words", lambda parts, lengths: np.zeros(len(lengths), dtype=np.uint64))
    table = WordTable.of(["abcdefghi"])
    assert table is not None
    for text, expected in (("abcdefghi", [0]), ("abcdefghj", None), ("bbcdefghi", None), ("abcdefgh", None)):
        words, every = every_word(text)
        found = table.find(words, every)
        assert (found if found is None else found.tolist()) == expected
    assert WordTable.of(["a", "b"]) is None


FIGURES = st.one_of(
    st.from_regex(r"[+-]?[0-9]{0,9}\.?[0-9]{0,9}", fullmatch=True).filter(bool),
    st.floats(allow_nan=False).map(repr),
    st.text("0123456789.+-eE", min_size=1, max_size=20),
    st.sampled_from(["0", "-0", "-.5", "+5.", ".", "-", "+", "1.2.3", "123456789012345", "1234567890123456", "999999999999999.", "0.00000000000001", "9007199254740993", "١"]),
)  # fmt: skip


@given(st.lists(FIGURES, min_size=1, max_size=8))
def test_decimal_figures_are_those_of_float(texts: list[str]) -> None:
    words, every = every_word(" ".join(texts))
    values, is_read = words.figures(every)
    for text, value, is_given in zip(texts, values.tolist(), is_read.tolist(), strict=True):
        is_decimal = re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)", text) is not None
        assert is_given == (is_decimal and sum(map(str.isdigit, text)) <= text_words.MAX_DIGITS)
        if is_given:
            assert repr(value) == repr(float(text))


def test_letters_are_those_of_single_bytes() -> None:
    words, every = every_word("N LL g é 9")
    assert words.letters(every) == ["N", "", "g", "", "9"]
