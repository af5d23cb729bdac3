import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.direction import Direction
from oragent._base.text_format import escape_text, one_line
from oragent.report.pages import text as in_words
from oragent.report.pages.text import clip_text, diff_texts


@given(st.text(alphabet=st.characters()))
def test_plain_text_drives_no_terminal_and_can_be_written(text: str) -> None:
    shown = escape_text(text)
    shown.encode()
    assert all(char in "\n\t" or ord(char) >= 32 for char in shown)
    assert not set(shown) & set("\x7f\x9b\u202e\u2066\u2028")


def test_what_is_plain_already_stays_as_it_is() -> None:
    assert escape_text("def f(x):\r\n\treturn 'é→'\n") == "def f(x):\n\treturn 'é→'\n"


@given(st.text(), st.integers(1, 50))
def test_one_line_is_one_line_of_bounded_width(text: str, width: int) -> None:
    line = one_line(text, width)
    assert "\n" not in line
    assert len(line) <= width


def test_a_long_program_is_clipped_and_says_by_how_much() -> None:
    text, left_out = clip_text("\n".join(["x" * 1000] * 30), lines=10, width=20)
    assert text == "\n".join(["x" * 19 + "…"] * 10)
    assert left_out == 20


def test_a_difference_names_what_was_added_and_removed() -> None:
    lines, left_out = diff_texts("a\nb\nc\n", "a\nB\nc\n")
    assert [(line.kind, line.text) for line in lines][1:] == [
        ("same", " a"),
        ("removed", "-b"),
        ("added", "+B"),
        ("same", " c"),
    ]
    assert left_out == 0


def test_a_removed_line_of_dashes_is_no_header() -> None:
    lines, _ = diff_texts("-- x\nno program", "no program")
    assert lines[1].text == "--- x"
    assert lines[1].kind == "removed"


def test_the_layout_of_a_program_is_no_change_where_the_other_has_none() -> None:
    seed = "def f(\n    x,\n):\n    # the trick\n    return (x)\n"
    lines, _ = diff_texts(seed, "def f(x):\n    return x + 1")
    assert [line.text for line in lines if line.kind != "gap"] == [" def f(x):", "-    return x", "+    return x + 1"]
    assert "-    # the trick" in [line.text for line in diff_texts(seed, seed.replace("# the trick\n    ", ""))[0]]


def test_equal_programs_have_no_difference() -> None:
    assert diff_texts("a\n", "a") == ((), 0)


def test_a_long_difference_is_cut() -> None:
    lines, left_out = diff_texts("", "\n".join(map(str, range(100))), lines=10)
    assert len(lines) == 10
    assert left_out == 92  # a mark of place, an empty line less and a hundred more


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4213, "0.42 s"), (12.34, "12.3 s"), (59.99, "1 min 00 s"), (252, "4 min 12 s"), (3599.9, "1 h 00 min"), (7500, "2 h 05 min")],
)  # fmt: skip
def test_durations_read_well(seconds: float, text: str) -> None:
    assert in_words.format_duration(seconds) == text


@pytest.mark.parametrize(
    ("direction", "before", "after", "text"),
    [
        ("minimize", 4.0, 3.0, "1 lower than the seed (25 %)"),
        ("minimize", 4.0, 5.0, "1 higher than the seed (25 %)"),
        ("maximize", -4.0, -3.0, "1 higher than the seed (25 %)"),
        ("maximize", 0.0, 3.0, "3 higher than the seed"),
        ("maximize", 3.0, 3.0, "as good as the seed"),
    ],
)
def test_a_gain_is_said_in_natural_units_and_percent(direction: str, before: float, after: float, text: str) -> None:
    assert in_words.measure_gain(Direction(direction), before, after).sentence == text


def test_money_says_what_it_does_not_know() -> None:
    assert in_words.format_money(0.0123) == "$0.0123"
    assert in_words.format_money(1234.5, 2) == "$1,234.50 + 2 calls of unknown price"
    assert in_words.format_money(0.0, 1) == "1 call of unknown price"


def test_one_is_singular() -> None:
    assert in_words.format_count(1, "call") == "1 call"
    assert in_words.format_count(1200, "call") == "1,200 calls"
