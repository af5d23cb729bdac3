"""Cells are run once, resumed after whatever happens, and read when they are complete."""

from pathlib import Path

import pytest

from oragent._base.errors import OragentError, StoreError
from oragent.evals.bench.result import CellEnd, CellReport, execute_plan, gather_results
from tests.evals.bench.dice import THROWS, Thrower, tournament


def test_every_cell_is_run_once_in_the_order_of_the_plan(tmp_path: Path) -> None:
    plan = tournament()
    thrower = Thrower(plan)
    assert list(execute_plan(plan, thrower, tmp_path)) == [CellReport(cell, CellEnd(), True, "") for cell in plan.cells]
    assert thrower.thrown == [cell for cell in plan.cells for _ in range(THROWS)]
    again = Thrower(plan)
    assert list(execute_plan(plan, again, tmp_path)) == [CellReport(cell, CellEnd(), False, "") for cell in plan.cells]
    assert again.thrown == []


@pytest.mark.parametrize("after", [0, 1, THROWS, 2 * THROWS + 3])
def test_after_a_persons_ctrl_c_the_rest_is_done_and_comes_to_the_same(tmp_path: Path, after: int) -> None:
    plan = tournament()
    list(execute_plan(plan, Thrower(plan), tmp_path / "whole"))
    *before, last = execute_plan(plan, first := Thrower(plan, after), tmp_path)
    assert len(before) == after // THROWS
    assert last == CellReport(plan.cells[len(before)], CellEnd("stopped by Ctrl-C", stopped=True), True, "")
    list(execute_plan(plan, second := Thrower(plan), tmp_path))
    assert len(first.thrown) + len(second.thrown) == THROWS * len(plan.cells)
    results, unfinished = gather_results(plan, Thrower(plan), tmp_path)
    assert unfinished == ()
    assert [one.curve for one in results] == [
        one.curve for one in gather_results(plan, Thrower(plan), tmp_path / "whole")[0]
    ]


def test_what_keeps_a_cell_from_running_names_the_cell(tmp_path: Path) -> None:
    plan = tournament()
    seen = []
    with pytest.raises(OragentError) as caught:
        seen += execute_plan(plan, Thrower(plan, THROWS, StoreError("no room on the table")), tmp_path)
    assert str(caught.value) == "d6 by bob, seed 0: no room on the table"


def test_a_fault_of_our_own_is_not_hidden(tmp_path: Path) -> None:
    plan = tournament()
    with pytest.raises(ZeroDivisionError):
        list(execute_plan(plan, Thrower(plan, 0, ZeroDivisionError()), tmp_path))


def test_a_cell_that_ends_early_is_told_and_left_out_and_the_others_go_on(tmp_path: Path) -> None:
    plan = tournament("lazy", "ann", seeds=1)
    ends = [
        (done.cell.contestant, done.end.reason, done.remark) for done in execute_plan(plan, Thrower(plan), tmp_path)
    ]
    assert ends == 2 * [("lazy", "does not feel like it", "nothing to check"), ("ann", "", "")]
    results, unfinished = gather_results(plan, Thrower(plan), tmp_path)
    assert [one.cell.contestant for one in results] == ["ann", "ann"]
    assert [str(cell) for cell in unfinished] == ["d6 by lazy, seed 0", "d20 by lazy, seed 0"]


def test_a_cell_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    plan = tournament(seeds=1)
    list(execute_plan(plan, Thrower(plan), tmp_path))
    (tmp_path / "0-d20-ann.txt").write_text("1\n2\n0\n4\n")
    with pytest.raises(OragentError, match="0-d20-ann"):
        gather_results(plan, Thrower(plan), tmp_path)
