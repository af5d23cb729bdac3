"""Tolerances are those that published tables were made with."""

import math

import pytest

from oragent._base.errors import ModellingError
from oragent.modelling.data.solution import TOLERANCES, SolveVerdict, Tolerance


@pytest.mark.parametrize(
    ("preset", "value", "reference", "same"),
    [
        ("strict", 100.00009, 100, True),
        ("strict", 100.0002, 100, False),
        ("strict", 1e-7, 0, True),
        ("ormind", 0.2, 0, True),
        ("ormind", 0.21, 0, False),
        ("ormind", 1001, 1000, True),
        ("ormind", 1001.1, 1000, False),
        ("orspace", 0.01, 0, True),
        ("orspace", 0.5099, 0.5, True),
        ("orspace", 202, 200, True),
        ("orspace", 202.1, 200, False),
        ("orspace", -200, 200, False),
    ],
)
def test_a_preset_draws_its_line(preset: str, value: float, reference: float, same: bool) -> None:
    assert TOLERANCES[preset].accepts(value, reference) is same


@pytest.mark.parametrize("value", [None, math.nan, math.inf, -math.inf])
def test_what_is_no_figure_is_never_right(value: float | None) -> None:
    assert [tolerance.accepts(value, 0) for tolerance in TOLERANCES.values()] == [False] * len(TOLERANCES)
    assert TOLERANCES["strict"].accepts(0, math.inf) is False
    assert TOLERANCES["strict"].accepts(0, math.nan) is False


def test_the_ormind_preset_is_isclose() -> None:
    for value, reference in [(5, 5.2), (5, 5.21), (999, 1000), (998.9, 1000), (1e9, 1.001e9), (1e9, 1.0011e9)]:
        assert TOLERANCES["ormind"].accepts(value, reference) is math.isclose(
            value, reference, rel_tol=1e-3, abs_tol=0.2
        )


def test_a_negative_tolerance_is_refused() -> None:
    with pytest.raises(ModellingError, match="expected none below 0"):
        Tolerance(-1)


def test_verdicts_have_the_names_that_files_hold() -> None:
    assert [str(verdict) for verdict in SolveVerdict] == [
        "accept", "wrong_answer", "model_failure", "runtime_error", "compile_error", "timeout", "memory", "unsupported",
        "unsolved",
    ]  # fmt: skip
