"""Verdicts on what programs claim of their models, without running them, against the optimum by hand."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from oragent._base.errors import ModellingError
from oragent.modelling.capture import program as program_module
from oragent.modelling.capture.program import (
    OPENED,
    POINT,
    PROGRAM_LIMITS,
    SOLVES,
    SOLVES_NOTHING,
    CapturedModel,
    CapturedProgram,
    ClaimVerdict,
    ProgramOutcome,
    _outcome_of,
    _read_models,
    _read_program,
    capture_program,
)
from oragent.modelling.capture.snapshot import DataTable, Snapshot
from oragent.modelling.data.arrays import FEASIBLE
from oragent.modelling.data.solution import SolveStatus
from oragent.sandbox.messages import Command, CommandResult, EndReason

INF = float("inf")


def snapshot(maximize: bool = True, high: float = 2.5, whole: bool = True, need: float = 0.0) -> Snapshot:
    """One variable from 0 to a bound with worth 3 x + 1, and at least a need."""
    made = Snapshot("test 1", name="plan", maximize=maximize, constant=1.0)
    made.add_column("x", 0.0, high, whole, 3.0)
    made.add_row("need", {0: 1.0}, need, INF)
    return made


def read(*files: tuple[Snapshot, object], solve_s: float | None = 30.0, left_out: dict[str, str] | None = None):
    contents = {}
    for number, (made, claim) in enumerate(files):
        contents[f"{SOLVES}/{number}.json"] = made.to_text().encode()
        if claim is not None:
            contents[f"{SOLVES}/{number}{POINT}"] = json.dumps(claim).encode()
    ended = CommandResult(EndReason.EXITED, 0, files=contents, left_out=left_out or {})
    return _read_models(ended, solve_s)


def one(made: Snapshot, claim: object, solve_s: float | None = 30.0) -> CapturedModel:
    models, joined = read((made, claim), solve_s=solve_s)
    assert joined is None
    (captured,) = models
    return captured


def claim(value: float | None, objective: float | None, status: str = "optimal") -> dict:
    return {"status": status, "objective": objective, "values": None if value is None else [value]}


@pytest.mark.parametrize(
    ("maximize", "value", "objective", "verdict"),
    [
        (True, 2.0, 7.0, ClaimVerdict.OPTIMAL), (True, 2.0, None, ClaimVerdict.OPTIMAL),
        (True, 2.0, 7.0 + 1e-6, ClaimVerdict.OPTIMAL), (True, 2.0, 7.1, ClaimVerdict.FALSE), (True, 2.0, 7.0 + 5e-5, ClaimVerdict.FALSE),
        (True, 1.0, 4.0, ClaimVerdict.WORSE), (True, 1.0, 7.0, ClaimVerdict.FALSE),
        (True, 3.0, 10.0, ClaimVerdict.FALSE), (True, 1.5, 5.5, ClaimVerdict.FALSE),
        (False, 1.0, 4.0, ClaimVerdict.OPTIMAL), (False, 2.0, 7.0, ClaimVerdict.WORSE),
        (False, 0.0, 1.0, ClaimVerdict.FALSE), (False, 1.0 - 5e-6, 4.0 - 15e-6, ClaimVerdict.OPEN),
        (False, 1.0 - 2e-5, 4.0 - 6e-5, ClaimVerdict.FALSE),
    ],
)  # fmt: skip
def test_a_claimed_point_is_compared_with_the_optimum(
    maximize: bool, value: float, objective: float | None, verdict: ClaimVerdict
) -> None:
    captured = one(snapshot(maximize, need=1.0), claim(value, objective))
    best = 7.0 if maximize else 4.0
    assert captured.verdict is verdict, captured.reason
    assert (captured.status, captured.objective) == (SolveStatus.OPTIMAL, pytest.approx(best))
    assert (captured.framework, captured.model.name) == ("test 1", "plan")
    is_feasible = value <= 2 and value != 1.5 and value >= 1 - 1e-5
    assert captured.claimed_objective == (pytest.approx(3 * value + 1) if is_feasible else None)
    assert bool(captured.reason) == (verdict is not ClaimVerdict.OPTIMAL)


@pytest.mark.parametrize(("objective", "verdict"), [(5e-7, ClaimVerdict.OPTIMAL), (2e-6, ClaimVerdict.FALSE)])
def test_an_objective_of_0_is_compared_by_its_difference(objective: float, verdict: ClaimVerdict) -> None:
    made = snapshot()
    made.constant = -6.0
    assert one(made, claim(2.0, objective)).verdict is verdict


@pytest.mark.parametrize(("factor", "is_feasible"), [(10, True), (10.5, False)])
def test_a_claimed_point_may_break_the_model_by_the_noise_of_solvers(factor: float, is_feasible: bool) -> None:
    value = -FEASIBLE * factor
    captured = one(snapshot(whole=False, need=-1.0), claim(value, 3 * value + 1))
    assert (captured.verdict is not ClaimVerdict.FALSE) == is_feasible
    assert (captured.claimed_objective is not None) == is_feasible


def test_data_that_were_matched_by_value_or_left_out_are_named() -> None:
    made = Snapshot("test 1")
    for label, cost in (("a", 2.0), ("b", 3.0)):
        made.add_column(f"x_{label}", 0.0, 1.0, False, cost)
        made.column_keys.append(("x", [label], "container"))
    made.tables = [
        DataTable("price", [["a"], ["b"]], [2.0, 3.0]),
        DataTable("share", [], [], is_linked=True),
        DataTable("unused", [], []),
    ]
    captured = one(made, None)
    assert (captured.matched, captured.left_out) == (("price",), ("share",))
    notes = [line.rpartition(": ")[2] for line in captured.data_notes]
    assert notes == ["price", "share"]
    assert replace(captured, matched=(), left_out=()).data_notes == ()


def test_models_without_a_point_or_without_a_solve_have_no_verdict() -> None:
    captured = one(snapshot(), claim(None, None, "no time"))
    assert (captured.verdict, captured.status) == (ClaimVerdict.NO_CLAIM, SolveStatus.OPTIMAL)
    assert captured.claim.status == "no time"
    assert captured.reason.endswith("no time")
    for made, point in ((snapshot(), None), (snapshot(), [])):
        captured = one(made, point)
        assert (captured.verdict, captured.claim.values) == (ClaimVerdict.NO_CLAIM, None)
    captured = one(snapshot(), claim(2.0, 7.0), solve_s=None)
    assert (captured.verdict, captured.status, captured.objective) == (ClaimVerdict.UNVERIFIED, None, None)
    assert captured.reason
    assert captured.model is not None
    assert captured.claim.values.tolist() == [2.0]
    # No optimum to compare with: a false claim is found all the same.
    impossible = snapshot(need=3.0)
    assert one(impossible, claim(2.0, 7.0)).verdict is ClaimVerdict.FALSE
    endless = snapshot(high=INF)
    captured = one(endless, claim(2.0, 7.0))
    assert captured.verdict is ClaimVerdict.OPEN
    assert captured.reason.endswith("unbounded")


@pytest.mark.parametrize(("weight", "verdict"), [(0.0, ClaimVerdict.OPTIMAL), (0.5, ClaimVerdict.OPEN)])
def test_only_the_objective_that_counts_alone_is_compared(weight: float, verdict: ClaimVerdict) -> None:
    made = snapshot()
    made.add_feature("goals", name="second", terms={0: 1.0}, sense="maximize", weight=weight, priority=1)
    captured = one(made, claim(2.0, None))
    assert captured.verdict is verdict, captured.reason
    assert bool(captured.reason) == (verdict is not ClaimVerdict.OPTIMAL)
    assert captured.claim.values.tolist() == [2.0]


def test_files_that_cannot_be_read_are_models_without_a_verdict() -> None:
    damaged = CommandResult(
        EndReason.EXITED, 0, files={f"{SOLVES}/0.json": b"[]", f"{SOLVES}/1.json": snapshot().to_text().encode()},
        left_out={f"{SOLVES}/2.json": "too large", "other.txt": "a link"},
    )  # fmt: skip
    models, joined = _read_models(damaged, None)
    assert joined is None
    assert [captured.model is not None for captured in models] == [False, True, False]
    assert {captured.verdict for captured in models} == {ClaimVerdict.UNVERIFIED}
    assert "too large" in models[2].reason
    assert models[0].reason


def test_the_rows_of_a_single_solve_are_not_compared_with_those_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    # The comparison takes time and memory for each entry of the model.
    monkeypatch.setattr(program_module, "join_solves", None)
    assert one(snapshot(), claim(2.0, 7.0)).model is not None


def test_two_solves_of_which_the_last_one_holds_the_first_are_joined() -> None:
    def cube(costs: dict[int, float], *rows: tuple[dict[int, float], float, float]) -> Snapshot:
        made = Snapshot("test 1")
        for column in range(2):
            made.add_column(f"x{column}", 0.0, 4.0, True, costs.get(column, 0.0))
        for number, (terms, low, high) in enumerate((({0: 1.0, 1: 1.0}, 3.0, INF), *rows)):
            made.add_row(f"row{number}", terms, low, high)
        return made

    first, last = cube({0: 1.0, 1: 2.0}), cube({1: -1.0}, ({0: 1.0, 1: 2.0}, -INF, 3.0))
    point = {"status": "optimal", "objective": 3.0, "values": [3.0, 0.0]}
    models, joined = read((first, point), (last, None), solve_s=None)
    assert len(models) == 2
    assert joined is not None
    assert [goal.priority for goal in joined.stages] == [1, 0]
    assert read((last, None), (first, None), solve_s=None)[1] is None
    assert read((first, point), (cube({1: -1.0}), None), solve_s=None)[1] is None
    assert read((first, point), solve_s=None)[1] is None
    # Solves between them that cannot be read do not count, and nothing is joined to a last one that cannot.
    damaged = cube({0: 1.0})
    damaged.low = []
    assert read((first, point), (damaged, None), (last, None), solve_s=None)[1] is not None
    assert read((first, point), (last, None), (damaged, None), solve_s=None)[1] is None
    last.missing.append("a part")
    models, joined = read((first, point), (last, None), solve_s=None)
    assert [captured.model is not None for captured in models] == [True, False]
    assert joined is None


@pytest.mark.parametrize("works_in_folder", [False, True])
def test_a_program_runs_beside_its_data_with_the_files_that_replace_them(works_in_folder: bool, tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    path = tmp_path / "src" / "plan.py"
    path.write_text("print(1)", encoding="utf-8")
    runs = []

    def run(command: Command, **options: object) -> CommandResult:
        runs.append((command, options))
        return CommandResult(EndReason.EXITED, 3, "out", "err")

    captured = capture_program(
        path, data_folder=tmp_path, arguments=("-n", "2"), limits=PROGRAM_LIMITS, sandbox=run, works_in_folder=works_in_folder,
        files={"data.csv": "a,b"}, module="src.plan", environment={"MODE": "x"}, import_folders=("src", "lib"),
        working_folder="src",
    )  # fmt: skip
    ((command, options),) = runs
    assert command.argv[2:] == ("src/plan.py", str(PROGRAM_LIMITS.cpu_s), "src.plan", "src:lib", "src", "-n", "2")
    assert command.files["src/plan.py"] == "print(1)"
    assert command.files["data.csv"] == "a,b"
    assert (command.environment, command.limits) == ({"MODE": "x"}, PROGRAM_LIMITS)
    if works_in_folder:
        assert (command.folder, command.libraries_only) == (tmp_path, True)
        assert "companion_folder" not in options
    else:
        assert (command.folder, command.libraries_only) == (None, False)
        companion = options["companion_folder"]
        assert (companion.folder, set(companion.brought)) == (tmp_path, {"src/plan.py", "data.csv"})
        assert options["root_dir"] == tmp_path
    assert (captured.models, captured.outcome, bool(captured.reason)) == ((), ProgramOutcome.ERROR, True)


def test_a_run_has_its_models_in_order_and_the_files_that_the_program_opened(tmp_path: Path) -> None:
    path = tmp_path / "plan.py"
    path.write_text("print(1)", encoding="utf-8")

    def capture(**parts: Any) -> CapturedProgram:
        ended = CommandResult(EndReason.EXITED, 0, "out", "err", cpu_s=1.5, peak_mb=20.0, **parts)
        return capture_program(path, sandbox=lambda command, **options: ended, solve_s=None)

    first, second = snapshot(), snapshot(high=9.0)
    opened = f"b.csv\n{SOLVES}/000001.json\nsub/a.csv\nb.csv\n"
    captured = capture(
        files={
            f"{SOLVES}/000002.json": second.to_text().encode(), f"{SOLVES}/000001.json": first.to_text().encode(),
            f"{SOLVES}/{OPENED}": opened.encode(), "solution.csv": b"x,1", "other.json": b"{}",
        }
    )  # fmt: skip
    assert [solved.model.to_arrays().high[0] for solved in captured.models] == [2.5, 9.0]
    assert captured.last_model is captured.models[1].model
    assert (captured.opened, captured.files) == (("b.csv", "sub/a.csv"), {"solution.csv": b"x,1"})
    assert (captured.outcome, captured.code, captured.reason) == (ProgramOutcome.ENDED, 0, "")
    assert (captured.stdout, captured.stderr, captured.cpu_s, captured.peak_mb) == ("out", "err", 1.5, 20.0)
    assert (capture().reason, capture(reason="stopped").reason) == (SOLVES_NOTHING, "stopped")
    assert capture().last_model is None


def test_a_program_has_a_largest_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "plan.py"
    path.write_text("print(1)", encoding="utf-8")
    monkeypatch.setattr(program_module, "MAX_PROGRAM_BYTES", 8)
    assert _read_program(path) == "print(1)"
    monkeypatch.setattr(program_module, "MAX_PROGRAM_BYTES", 7)
    with pytest.raises(ModellingError):
        _read_program(path)
    with pytest.raises(ModellingError) as refused:
        _read_program(Path("a" * 240))
    assert str(refused.value).index(":") == 200
    path.write_bytes(b"\xff")
    with pytest.raises(ModellingError):
        _read_program(path)


@pytest.mark.parametrize(
    ("end", "code", "stderr", "outcome"),
    [
        (EndReason.EXITED, 0, "", ProgramOutcome.ENDED), (EndReason.EXITED, 1, "", ProgramOutcome.ERROR),
        (EndReason.EXITED, 1, "MemoryError" + "x" * 1989, ProgramOutcome.MEMORY),
        (EndReason.EXITED, 1, "MemoryError" + "x" * 1990, ProgramOutcome.ERROR),
        (EndReason.EXITED, 0, "MemoryError", ProgramOutcome.ENDED),
        (EndReason.DEADLINE, 1, "MemoryError", ProgramOutcome.TIME), (EndReason.MEMORY, 0, "", ProgramOutcome.MEMORY),
    ],
)  # fmt: skip
def test_the_end_of_a_program_is_its_outcome(end: EndReason, code: int, stderr: str, outcome: ProgramOutcome) -> None:
    assert _outcome_of(CommandResult(end, code, stderr=stderr)) is outcome
