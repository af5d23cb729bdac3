"""The objective is the last line with the marker; whatever is wrong with it is one line, never an exception."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent.workspace.runner import relative_error
from oragent_benchmarks.workspace.printed import Backing, PrintedObjective, find_backing, parse_objective
from tests.workspace.release import PUBLIC, needs_release


@given(st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=20))
def test_any_finite_number_is_read_back(value: float, before: str) -> None:
    assert parse_objective(f"{before}\nOBJECTIVE_VALUE: {value}\n").value == value


@pytest.mark.parametrize(
    ("output", "note"),
    [
        ("", "no line OBJECTIVE_VALUE:"),
        ("objective: 5\n", "no line OBJECTIVE_VALUE:"),
        ("total OBJECTIVE_VALUE: 5\n", "no line OBJECTIVE_VALUE:"),
        ("OBJECTIVE_VALUE: nan\n", "is nan; expected a finite number"),
        ("OBJECTIVE_VALUE: -inf\n", "is -inf; expected a finite number"),
        ("OBJECTIVE_VALUE: 1e999\n", "expected one finite number"),
        ("OBJECTIVE_VALUE: 5 6\n", "expected one finite number"),
        ("OBJECTIVE_VALUE: None\n", "'None'"),
        ("OBJECTIVE_VALUE: 1_000\n", "'1_000'"),
        ("OBJECTIVE_VALUE:\n", "''"),
        ("OBJECTIVE_VALUE: \x1b[31m5\n", "'·[31m5'"),
    ],
)
def test_what_cannot_be_used_is_told_in_one_line(output: str, note: str) -> None:
    printed = parse_objective(output)
    assert printed.value is None
    assert note in printed.note
    assert printed.note.isprintable()


def test_of_two_the_last_counts_and_it_is_said() -> None:
    printed = parse_objective("OBJECTIVE_VALUE: 4\nmore\nOBJECTIVE_VALUE: 5\r\n")
    assert (printed.value, printed.note) == (
        5.0,
        "2 lines OBJECTIVE_VALUE: were printed and the last counts; print one",
    )


def test_a_hostile_line_takes_no_more_than_a_long_one() -> None:
    assert parse_objective("OBJECTIVE_VALUE: 5" + " " * 300_000 + "x\n" + " " * 300_000).value is None


@given(st.text())
def test_no_output_raises(output: str) -> None:
    parse_objective(output)
    parse_objective(f"OBJECTIVE_VALUE:{output}")


@pytest.mark.parametrize(
    ("text", "objectives", "expected"),
    [
        ("12.5", [12.5], Backing.MODEL),
        ("12.5", [3.0, 12.5000001], Backing.MODEL),
        ("842.31", [842.3066], Backing.ROUNDED),
        ("842.32", [842.3066], Backing.OTHER),
        ("35", [34.6], Backing.ROUNDED),
        ("1.2e3", [1249.0], Backing.ROUNDED),
        ("1.2e3", [1251.0], Backing.OTHER),
        ("0e999", [1e6], Backing.ROUNDED),
        ("12.75", [None], Backing.OTHER),
        ("12.75", [], Backing.NONE),
    ],
)
def test_what_stands_behind_a_printed_value(text: str, objectives: list, expected: Backing) -> None:
    assert find_backing(parse_objective(f"OBJECTIVE_VALUE: {text}"), objectives) is expected


def test_nothing_stands_behind_no_value() -> None:
    assert find_backing(PrintedObjective(None), [1.0]) is Backing.OTHER


def test_small_references_count_as_one() -> None:
    assert relative_error(0.5, 0.25) == 0.25
    assert relative_error(110.0, -100.0) == pytest.approx(2.1)


@needs_release
def test_the_release_s_outputs_are_read_as_it_read_them() -> None:
    records = [
        json.loads(path.read_text()) for path in PUBLIC.glob("Workspace_OR/explain_workspaces/*/*/logs/*record.json")
    ]
    assert len(records) == 200
    assert all(parse_objective(record["stdout"]).value == record["objective_value"] for record in records)
