"""Keys of evaluations: their texts are stored in run.db, so that older runs resume only if they stay as they are."""

import hashlib
import json
import sqlite3
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent.search.evaluation_key import (
    EvaluationKey,
    EvaluationKind,
    ended_race_text,
    impure_text,
    screened_text,
)

PROGRAM = "f00" * 10
TERMS = '{"direction": "minimize"}'
EXPERIMENT = EvaluationKey.of_experiment(PROGRAM, 50, "1,2", "")
PLAIN = (EvaluationKind.RACE, EvaluationKind.EXPERIMENT, EvaluationKind.CHECK)


def hash_text(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


EXPERIMENT_TEXT = f"experiment {hash_text(json.dumps([PROGRAM, 50, '1,2', '']))}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (EvaluationKey(PROGRAM), PROGRAM),
        (EvaluationKey(PROGRAM, EvaluationKind.TRAIN), hash_text(f"train {PROGRAM}")),
        (EvaluationKey(PROGRAM, EvaluationKind.SIZE, "20"), hash_text(f"size 20 {PROGRAM}")),
        (EvaluationKey(PROGRAM, EvaluationKind.FLOOR, "0.1"), hash_text(f"floor 0.1 {PROGRAM}")),
        (screened_text(PROGRAM), hash_text(f"screened {PROGRAM}")),
        (impure_text(PROGRAM), hash_text(f"impure {PROGRAM}")),
        (EvaluationKey(PROGRAM, EvaluationKind.PROBE), hash_text(f"probe {PROGRAM}")),
        (EvaluationKey(PROGRAM, EvaluationKind.PROBE, "--n=4", "x = 1"), hash_text(f"probe --n=4 {PROGRAM} x = 1")),
        (EvaluationKey(PROGRAM, EvaluationKind.CHECK), f"check {PROGRAM}"),
        (EvaluationKey.of_race(PROGRAM, TERMS), f"raced {hash_text(TERMS)[:16]} {PROGRAM}"),
        (ended_race_text(PROGRAM), f"raced {PROGRAM}"),
        (EXPERIMENT, EXPERIMENT_TEXT),
        (EXPERIMENT.within(2.5), f"{EXPERIMENT_TEXT} within 2.5 s"),
    ],
)
def test_texts_are_those_of_earlier_versions(text: EvaluationKey | str, expected: str) -> None:
    assert str(text) == expected


@given(st.sampled_from(EvaluationKind), st.text(max_size=20), st.from_regex(r"[0-9a-f]{8}", fullmatch=True))
def test_a_range_holds_the_texts_of_its_kind_alone(kind: EvaluationKind, terms: str, program: str) -> None:
    text = str(EvaluationKey(program, kind, terms)).encode(errors="replace").decode()
    with closing(sqlite3.connect(":memory:")) as database, database:
        matches = {
            plain: database.execute("SELECT ? BETWEEN ? AND ?", (text, *plain.text_range)).fetchone()[0]
            for plain in PLAIN
        }
    assert matches == {plain: int(kind is plain) for plain in PLAIN}


def test_hashed_keys_have_no_range() -> None:
    with pytest.raises(ValueError, match="cannot be recognized"):
        _ = EvaluationKind.TRAIN.text_range
