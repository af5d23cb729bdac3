"""Lines and tables in a terminal keep every word, and fit its width."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from oragent.converse.terminal_text import show_table, wrap_line

WORDS = st.text(alphabet="abcdefg-", min_size=1, max_size=12).filter(lambda word: word.strip("-"))


@given(words=st.lists(WORDS, min_size=1, max_size=40), indent=st.integers(0, 6), width=st.integers(40, 100))
def test_wrapped_lines_keep_words_and_fit(words: list[str], indent: int, width: int) -> None:
    lines = wrap_line(" " * indent + " ".join(words), width).split("\n")
    assert " ".join(lines).split() == words
    assert max(map(len, lines)) <= width
    assert all(line.startswith(" " * (indent + 2)) and not line[indent + 2 :].startswith(" ") for line in lines[1:])


def test_the_narrowest_line_has_forty_characters_and_a_longer_word_stays_whole() -> None:
    for width in (10, 40):
        assert wrap_line("a" * 20 + " " + "b" * 19, width).count("\n") == 0
        assert wrap_line("a" * 20 + " " + "b" * 20, width).count("\n") == 1
        assert wrap_line(f"see {'/folder' * 9} now", width).split("\n")[1].strip() == "/folder" * 9


def test_a_word_with_a_hyphen_is_not_split() -> None:
    for width in range(40, 50):
        assert {word for line in wrap_line("week-end " * 20, width).split("\n") for word in line.split()} == {
            "week-end"
        }


@pytest.mark.parametrize("width", [40, 60, 81])
@pytest.mark.parametrize("first", [5, 19, 20, 29, 30, 39, 40, 41, 55])
def test_further_lines_begin_at_the_second_column_in_the_left_half(width: int, first: int) -> None:
    line = "n" * (first - 2) + "  " + "word " * 30
    second = wrap_line(line, width).split("\n")[1]
    indent = len(second) - len(second.lstrip())
    assert indent == (first if first < width // 2 else 2)


def test_a_value_stays_with_its_name() -> None:
    for relation in ("demand = 5", "x <= 40", "load >= 7", "cost 3 → 5"):
        for before in range(20, 40):
            lines = wrap_line("w" * before + " " + relation + " and more words to fill the line", 40).split("\n")
            assert any(relation in line for line in lines)


def test_a_value_stays_with_its_name_if_both_fit_a_further_line() -> None:
    for length in range(20, 45):
        relation = f"{'n' * (length - 5)} <= 4"
        lines = wrap_line("word " * 6 + relation, 40).split("\n")
        # Further lines are indented by 2.
        assert any(relation in line for line in lines) == (length <= 38)


def shown(header: tuple[str, ...], rows: tuple[tuple[str, ...], ...]) -> list[list[str]]:
    text = io.StringIO()
    show_table(header, rows, Console(file=text, width=100))
    return [line.split() for line in text.getvalue().splitlines() if line.strip(" ─")]


def test_a_column_without_any_text_is_left_out() -> None:
    header = ("first", "none", "some", "last")
    rows = (("a", "", "", "1"), ("b", " ", "x", "2"), ("c", "", "", ""))
    assert shown(header, rows) == [["first", "some", "last"], ["a", "1"], ["b", "x", "2"], ["c"]]


def test_short_rows_are_filled() -> None:
    assert shown(("a", "b"), (("1",), ("2", "3"))) == [["a", "b"], ["1"], ["2", "3"]]
