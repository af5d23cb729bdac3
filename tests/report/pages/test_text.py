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
    [(9.994, "9.99 s"), (9.995, "10.0 s"), (59.94, "59.9 s"), (59.95, "1 min 00 s"), (3599.4, "59 min 59 s"), (0.4213, "0.42 s"), (12.34, "12.3 s"), (59.99, "1 min 00 s"), (252, "4 min 12 s"), (3599.9, "1 h 00 min"), (7500, "2 h 05 min")],
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


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0, "0 %"),
        (0.00123456, "0.123 %"),
        (0.125, "12.5 %"),
        (0.9994, "99.9 %"),
        (0.9995, "100 %"),
        (9.994, "999 %"),
        (9.996, "1000 %"),
        (12.5, "1250 %"),
    ],
)
def test_a_share_has_three_digits(share: float, text: str) -> None:
    assert in_words.format_percent(share) == text


def test_scores_and_shares_that_are_missing_are_dashes() -> None:
    assert (in_words.format_score(None), in_words.format_score(1234.56789)) == ("–", "1234.57")
    assert (in_words.format_share(None), in_words.format_share(0.12345)) == ("–", "0.123")


@pytest.mark.parametrize("direction", Direction)
def test_a_gain_is_relative_to_the_size_of_the_reference(direction: Direction) -> None:
    sign = direction.sign
    for reference, after, amount, share in ((-4.0, -3.0, 1.0, 0.25), (4.0, 3.0, -1.0, -0.25), (0.0, 2.0, 2.0, None)):
        gain = in_words.measure_gain(direction, reference, after)
        assert (gain.amount, gain.share) == (sign * amount, None if share is None else sign * share)
    assert str(in_words.measure_gain(direction, 3.0, 3.0).amount) == "0.0"


WORD = st.text(alphabet="ab", min_size=1, max_size=9)


@given(st.lists(st.lists(WORD, max_size=30).map(" ".join), max_size=6), st.integers(14, 40), st.integers(1, 12))
def test_lines_fit_a_width_and_a_number(lines: list[str], width: int, limit: int) -> None:
    fitted = in_words.fitted_lines(lines, width, limit)
    assert len(fitted) <= limit
    is_cut = bool(fitted) and fitted[-1].startswith("  and ")
    shown = fitted[:-1] if is_cut else fitted
    assert all(len(line) <= width for line in shown)
    # The lines that are shown, each with at most three more, and the number of the others.
    begun = [line for line in shown if not line.startswith("  ")]
    assert len(begun) == len(lines) - (int(fitted[-1].split()[1]) if is_cut else 0)
    assert all(text.startswith(line.removesuffix(" …")) for line, text in zip(begun, lines, strict=False))
    needed = sum(min(4, len(in_words.wrap(text, width, subsequent_indent="  ")) or 1) for text in lines)
    assert is_cut is (needed > limit)
    if not is_cut:
        assert len(fitted) == needed


def test_continued_lines_are_indented_deeper_than_their_first() -> None:
    text = "  - " + "word " * 9
    assert in_words.fitted_lines([text], 20, 9) == ["  - word word word", *["    word word word"] * 2]
    assert in_words.fitted_lines(["word " * 30], 20, 9)[3].endswith("…")
    assert in_words.fitted_lines(["x" * 20, ""], 20, 2) == ["x" * 20, ""]


def test_a_program_of_default_size_is_not_cut() -> None:
    lines = ["y" * 2001, *["x" * 2000] * 400]
    text, left_out = clip_text("\n".join(lines))
    assert (left_out, text.count("\n")) == (1, 399)
    assert [len(line) for line in text.split("\n")[:2]] == [2000, 2000]
    assert text.split("\n")[1] == lines[1]
    assert len(diff_texts("", "\n".join(map(str, range(300))))[0]) == 200


def test_both_themes_have_all_colours() -> None:
    tokens = in_words.read_tokens()
    plain, _, dark = tokens.partition("@media")
    names = [line.split(":")[0].strip() for line in plain.split(in_words.DARK)[1].splitlines() if "--" in line]
    assert names
    assert all(name in dark for name in names)
    assert ":root:not([data-theme])" in dark
    assert in_words.DARK not in dark


def test_money_says_what_it_does_not_know() -> None:
    assert (in_words.format_money(1.0), in_words.format_money(0.9999), in_words.format_money(0.0)) == (
        "$1.00", "$0.9999", "$0.0000",
    )  # fmt: skip
    assert in_words.format_money(0.0123) == "$0.0123"
    assert in_words.format_money(1234.5, 2) == "$1,234.50 + 2 calls of unknown price"
    assert in_words.format_money(0.0, 1) == "1 call of unknown price"


def test_one_is_singular() -> None:
    assert in_words.format_count(1, "call") == "1 call"
    assert in_words.format_count(1200, "call") == "1,200 calls"
