"""Each rule of normalisation, by a hand-made edge case; exact items never need a model."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent.workspace.citations import SearchableAnswer, compact_text, normalise_text


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("ﬁxed ², Ｘ", "fixed 2, x"),  # NFKC
        ("“a” ‘b’", "\"a\" 'b'"),
        ("a – b — c − d ‑ e", "a - b - c - d - e"),
        ("a→b ⇒ c ← d", "a->b -> c <- d"),
        ("`x_1` = ``5``", "x_1 = 5"),
        ("1,234,567 and 12,34 and 1,2345", "1234567 and 12,34 and 1,2345"),
        ("  a\t\nb\u00a0c ", "a b c"),
        ("STRASSE Straße", "strasse strasse"),
    ],
)
def test_both_sides_are_normalised(text: str, plain: str) -> None:
    assert normalise_text(text) == plain


@pytest.mark.parametrize(
    ("answer", "entity", "expected"),
    [
        ("the I-beam", "I", True),
        ("II and III", "I", False),
        ("in it", "I", False),
        ("capacity_2 binds", "capacity", False),
        ("capacity binds", "CAPACITY", True),
        ("x[1, 'a'] = 3", "x(1,a)", True),
        ('z["B2"]', "z['B2']", True),
        ("y[i] <= M", "y [ i ]", True),
        ("opening_hours of B=7", "opening_hours of B = 7", True),
        ("costs 1,234.50 EUR", "1234.5", True),
        ("about 1.2345e3 EUR", "1234.5", True),
        ("1234.6", "1234.5", False),
        ("1234.5001", "1234.5", True),  # within 1e-6 relative
        ("0.0000000005", "0", True),  # within 1e-9 absolute
        ("4e-11", "0", True),
        ("4e-8", "0", False),
        ("reserve −23.0", "-23", True),
        ("reserve 23.0", "-23", False),
        ("the 2nd", "2", True),  # the release's rule: any number token
        ("37 crates of rye", "37 crates", True),
        ("rows 5, 7 and 9", "7.0", True),
        ("3 crates", "37 crates", False),
        ("anything", "", False),
        ("anything", "  ", False),
        ("", "a", False),
    ],
)
def test_an_entity_is_found_as_the_release_finds_it(answer: str, entity: str, expected: bool) -> None:
    assert SearchableAnswer(answer).names_entity(entity) is expected


def test_numbers_may_be_asked_to_stand_alone() -> None:
    assert SearchableAnswer("variable x2").names_entity("2")
    assert not SearchableAnswer("variable x2", bounded=True).names_entity("2")
    assert SearchableAnswer("variable x2 is 2.0", bounded=True).names_entity("2")


@given(st.text(max_size=30))
def test_normalising_twice_changes_nothing_in_plain_text(text: str) -> None:
    ascii_text = text.encode("ascii", "ignore").decode()
    assert normalise_text(normalise_text(ascii_text)) == normalise_text(ascii_text)


@given(st.text(max_size=20), st.text(min_size=1, max_size=12), st.text(max_size=20))
def test_an_entity_between_spaces_is_always_found(before: str, entity: str, after: str) -> None:
    if normalise_text(entity) and not normalise_text(entity)[0].isspace():
        assert SearchableAnswer(f"{before} {entity} {after}").names_entity(entity) == SearchableAnswer(
            f" {entity} "
        ).names_entity(entity)


@given(st.integers(-(10**9), 10**9))
def test_integers_are_found_with_thousands_separators(value: int) -> None:
    assert SearchableAnswer(f"total {value:,}.").names_entity(str(value))
    assert SearchableAnswer(f"total {value}.0 units").names_entity(f"{value:,}")


def test_compact_drops_spaces_and_quotes_and_rounds_brackets() -> None:
    assert compact_text("`p[ 'a', \"b\" ]`") == "p(a,b)"
