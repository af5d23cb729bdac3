"""Business texts hold no word of modelling and lose no number and no name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent.evals.workspace.business_text import lost, modelling_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("From May on, the Verona yard ships at most 40 crates.", ()),
        ("Please add a constraint on crates.", ("add a constraint",)),
        ("ADDING A NEW CONSTRAINT is wanted", ("adding a new constraint",)),
        ("Late crates are penalised.", ("penalised",)),
        ("a Big‑M and the objective\nfunction", ("big-m", "objective function")),
        ("The model now ships less", ("the model now",)),
        ("The model nowhere fits", ()),
        ("introduce a binary for yards", ("introduce a binary",)),
        ("Management wants it; ESG.", ("esg", "management wants")),
        ("the milpond", ()),
    ],
)
def test_words_of_modelling_are_found(text: str, words: tuple[str, ...]) -> None:
    assert modelling_words(text) == words


@pytest.mark.parametrize(
    ("after", "missing"),
    [
        ("Ship 40 crates by `max_crates` of limits.csv, at 2.5 EUR.", ()),
        ("limits.csv says max_crates: 40.0 crates at 2.50 EUR", ()),
        ("Ship forty crates by max_crates of limits.csv, at 2.5 EUR.", ("40",)),
        ("Ship 40 crates by max_boxes of limits.csv, at 2.51 EUR.", ("2.5", "max_crates")),
        ("Ship 40 at 2.5 EUR, max_crates_new", ("max_crates", "limits.csv")),
        ("", ("2.5", "40", "max_crates", "limits.csv")),
    ],
)
def test_what_a_rewriting_loses_is_named(after: str, missing: tuple[str, ...]) -> None:
    assert lost("At 2.5 EUR, ship 40 crates by max_crates of limits.csv.", after) == missing


@given(st.text())
def test_a_text_loses_nothing_to_itself(text: str) -> None:
    assert lost(text, text) == ()
    assert lost(text, f"x {text}\n\ny") == ()
