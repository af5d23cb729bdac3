"""Models that are opened by their paths, without running a program: which one it is, and what is said of it."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from oragent._base.errors import ModellingError
from oragent.modelling.capture import program as program_module
from oragent.modelling.capture.program import CapturedModel, CapturedProgram, ClaimVerdict, ProgramOutcome
from oragent.modelling.capture.reading import ClaimedPoint
from oragent.modelling.files.model_files import write
from oragent.modelling.opening import SHOWN, find_model_of_run, is_program, open_model
from tests.modelling.models import pharmacy, steel

CLAIM = ClaimedPoint("optimal", None, None)
FIRST = CapturedModel("first 1", pharmacy(), CLAIM, ClaimVerdict.OPTIMAL)
LAST = CapturedModel("second 2", steel(), CLAIM, ClaimVerdict.FALSE, "it breaks a row", matched=("price", "need"))
LOST = CapturedModel("third 3", None, CLAIM, ClaimVerdict.UNVERIFIED, "a part is missing")
RUN = CapturedProgram(ProgramOutcome.ENDED, (FIRST, LAST), 0, "", "a warning\n", "")


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch):
    """Return a function that opens a program with a given result, and the lines that are said of it."""

    def run(result: CapturedProgram):
        said: list[str] = []
        folders: list[object] = []

        def capture(path: Path, data_folder: Path | None = None) -> CapturedProgram:
            folders.append(data_folder)
            return result

        monkeypatch.setattr(program_module, "capture_program", capture)
        model = open_model(Path("plan.py"), data_folder=Path("data"), tell=said.append)
        assert folders == [Path("data")]
        return model, said

    return run


def test_the_last_model_of_a_program_is_opened_and_its_claim_is_said(opened) -> None:
    model, said = opened(RUN)
    assert model is LAST.model
    assert len(said) == 2
    assert "last of 2" in said[0]
    for part in ("plan.py", "second 2", "2", str(ClaimVerdict.FALSE), "it breaks a row"):
        assert part in said[0]
    assert "price" in said[1]
    assert "need" in said[1]
    model, said = opened(replace(RUN, models=(FIRST,)))
    assert model is FIRST.model
    (line,) = said
    assert "first 1" in line
    assert line.endswith(str(ClaimVerdict.OPTIMAL))
    assert "last of" not in line


def test_a_joined_model_is_opened_and_its_further_objectives_are_said(opened) -> None:
    joined = steel()
    joined = replace(joined, objectives=(*joined.objectives, replace(joined.base_objective, name="waste", priority=1)))
    model, said = opened(replace(RUN, joined_model=joined))
    assert model is joined
    assert said[:2] == opened(RUN)[1]
    assert said[2].endswith(": waste")


def test_long_names_are_cut_in_what_is_said(opened) -> None:
    joined = steel()
    joined = replace(joined, objectives=(*joined.objectives, replace(joined.base_objective, name="g" * 99, priority=1)))
    long = replace(LAST, framework="f" * 99, matched=("m" * 99, "n" * 99), reason="r" * 999)
    _, said = opened(replace(RUN, models=(long,), joined_model=joined))
    counts = {letter: 1 + len(rest) for letter, rest in re.findall(r"([fmnrg])(\1{20,}…?)", " ".join(said))}
    verdict = f"{ClaimVerdict.FALSE}: "
    assert counts == {"f": 60, "m": 60, "n": 60, "r": SHOWN - len(verdict), "g": 60}


def test_a_program_without_a_model_is_refused_with_its_reason(opened) -> None:
    nothing = replace(RUN, models=(), reason="no model was solved")
    error = replace(nothing, outcome=ProgramOutcome.ERROR, code=1, stderr="Traceback\n" + "x" * 400 + "\n")
    for result, reason in (
        (nothing, "no model was solved"), (replace(RUN, models=(FIRST, LOST)), "a part is missing"),
        (error, "x" * (SHOWN - 1)), (replace(error, stderr=" \n"), "no model was solved"),
        (replace(error, models=(LOST,), stderr="one\ntwo"), "two"),
    ):  # fmt: skip
        with pytest.raises(ModellingError) as refused:
            opened(result)
        assert str(refused.value).startswith("plan.py: ")
        assert reason in str(refused.value)
        assert "\n" not in str(refused.value)
        assert len(str(refused.value)) < SHOWN + 60
    model, _ = opened(replace(RUN, outcome=ProgramOutcome.TIME))
    assert model is LAST.model


def test_a_folder_of_a_run_has_its_first_model_and_may_have_any_name(tmp_path: Path) -> None:
    folder = tmp_path / "run.py"
    folder.mkdir()
    with pytest.raises(ModellingError):
        find_model_of_run(folder)
    (folder / "milp.json").mkdir()
    write(pharmacy(), folder / "model.json")
    assert find_model_of_run(folder) == folder / "model.json"
    assert open_model(folder).shape == pharmacy().shape
    (folder / "milp.json").rmdir()
    write(steel(), folder / "milp.json")
    assert open_model(folder).shape == steel().shape
    assert [is_program(path) for path in (folder, tmp_path / "a.PY", tmp_path / "a.json")] == [False, True, False]
