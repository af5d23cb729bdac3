"""``verify`` with what a program did: the model that it solved, its solution files and its output."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from oragent._base.errors import ModellingError
from oragent.modelling.capture import program
from oragent.modelling.capture.program import CapturedModel, CapturedProgram, ClaimVerdict, ProgramOutcome
from oragent.modelling.capture.reading import ClaimedPoint
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.operations import ModelSession, SolveLimits
from oragent.modelling.operations.results import VerifyResult
from tests.modelling.shops import COLUMNS, fixed_shop

SHOP = fixed_shop(1)
BEST = SHOP.optima()[0]
VALUES = dict(zip(COLUMNS, BEST.tolist(), strict=True))
LINES = "".join(f"{name} = {value}\n" for name, value in VALUES.items())
ZEROS = json.dumps(dict.fromkeys(COLUMNS, 0))


def solved(
    model: IndexedModel | None, values: np.ndarray | None = None, objective: float | None = None
) -> CapturedModel:
    return CapturedModel("library 1", model, ClaimedPoint("optimal", objective, values), ClaimVerdict.OPTIMAL)


Verify = Callable[..., VerifyResult]


@pytest.fixture
def verify(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Verify:
    """Verify a program that did something, with 2 trials, and check the seconds of its solves."""
    (tmp_path / "p.py").write_text("")

    def run(
        models: tuple[CapturedModel, ...] = (),
        stdout: str = "",
        files: dict[str, str] | None = None,
        outcome: ProgramOutcome = ProgramOutcome.ENDED,
        stderr: str = "",
    ) -> VerifyResult:
        given = []

        def capture(path: Path, *, solve_s: float | None) -> CapturedProgram:
            given.append((path, solve_s))
            contents = {name: text.encode() for name, text in (files or {}).items()}
            return CapturedProgram(outcome, models, 0, stdout, stderr, "some reason", files=contents)

        monkeypatch.setattr(program, "capture_program", capture)
        result = ModelSession(SHOP.model(), SolveLimits(seconds=77.0), folder=tmp_path).ask('verify "p.py" 2')
        assert given == [(tmp_path / "p.py", 77.0)]
        assert isinstance(result, VerifyResult)
        return result

    return run


def test_printed_values_are_those_of_a_point(verify: Verify) -> None:
    result = verify(stdout=LINES + "profit = 5\n")
    assert (result.source, result.feasible, result.trials) == ("output of a program", True, ())
    assert (result.claimed.value, result.claim_holds) == (5.0, SHOP.worth(BEST) == 5.0)
    assert result.difference.value == pytest.approx(0)


@pytest.mark.parametrize(
    ("files", "worth"),
    [
        ({"solution.json": json.dumps(VALUES)}, SHOP.worth(BEST)),
        ({"solution.csv": "".join(f"{name},{value}\n" for name, value in VALUES.items())}, SHOP.worth(BEST)),
        # The first by name counts; files of other kinds do not.
        ({"b.csv": "make[a],1\n", "a.json": json.dumps(VALUES)}, SHOP.worth(BEST)),
        ({"b.json": ZEROS, "a.csv": "".join(f"{name},{value}\n" for name, value in VALUES.items())}, SHOP.worth(BEST)),
        ({"a.txt": "text"}, SHOP.worth(np.zeros(5))),
    ],
)
def test_a_solution_file_counts_more_than_the_output(verify: Verify, files: dict[str, str], worth: float) -> None:
    result = verify(files=files, stdout="make[a] = 0\n")
    assert result.objective.value == pytest.approx(worth)


def test_the_last_solved_model_is_compared_and_its_point_checked(verify: Verify) -> None:
    other = SHOP.session()
    other.run(["make <= 0", "batch <= 0"])
    for models, optima, structure in (
        ((solved(other.model), solved(SHOP.model(), BEST, SHOP.worth(BEST))), "yes", True),
        ((solved(SHOP.model(), BEST), solved(other.model, BEST, 3.5)), "no", False),
    ):
        result = verify(models)
        assert result.source == "model and output of a program"
        assert (result.same_structure, result.same_optima, len(result.trials)) == (structure, optima, 3)
        assert (result.feasible, result.objective.value) == (True, pytest.approx(SHOP.worth(BEST)))
        assert result.claimed.value == (SHOP.worth(BEST) if structure else 3.5)


def test_printed_values_count_more_than_the_point_of_the_solved_model(verify: Verify) -> None:
    result = verify((solved(SHOP.model(), BEST),), stdout="make[a] = 0\n")
    assert result.objective.value == pytest.approx(SHOP.worth(np.zeros(5)))
    assert len(result.trials) == 3


def test_a_point_of_other_variables_is_not_checked(verify: Verify) -> None:
    for model, values in ((renamed(SHOP.model()), BEST), (SHOP.model(), None)):
        result = verify((solved(model, values),))
        assert (result.feasible, result.objective) == (None, None)
        assert len(result.trials) >= 1


def renamed(model: IndexedModel) -> IndexedModel:
    """The model with another name of a family of variables."""
    first, *others = model.variables
    return replace(model, variables=(replace(first, name="build"), *others))


@pytest.mark.parametrize("models", [(), (solved(None),)])
def test_a_program_without_model_and_values_is_refused(verify: Verify, models: tuple[CapturedModel, ...]) -> None:
    with pytest.raises(ModellingError):
        verify(models, stdout="nothing\n")
    # A model that was not captured leaves the values.
    assert verify(models, stdout=LINES).feasible


@pytest.mark.parametrize(("stderr", "reason"), [("first\nlast line\n", "last line"), ("", "some reason")])
def test_a_program_that_fails_is_refused_with_its_last_line(verify: Verify, stderr: str, reason: str) -> None:
    for outcome in (ProgramOutcome.ERROR, ProgramOutcome.TIME, ProgramOutcome.MEMORY):
        with pytest.raises(ModellingError) as problem:
            verify(stdout=LINES, outcome=outcome, stderr=stderr)
        assert reason in str(problem.value)
        assert "first" not in str(problem.value)
