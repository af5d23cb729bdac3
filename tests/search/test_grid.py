"""Features that are measured numbers: bins from declared ends, or from what the first candidates show, and kept."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.errors import ProblemError
from oragent.evaluation.problem import Feature, load_problem
from oragent.report.run import load_run as read_run
from oragent.search.archive import FIRST, Grid
from oragent.search.config import build_config
from oragent.search.folder import make_folder, reopen
from oragent.search.launch import launch
from oragent.search.store import Store

finite = st.floats(-1e9, 1e9)


@given(st.lists(finite, min_size=1, max_size=30), st.integers(2, 12), st.lists(finite, max_size=10))
def test_every_number_falls_into_a_bin_and_larger_ones_never_into_a_lower_one(
    first: list[float], bins: int, later: list[float]
) -> None:
    declared = Grid.declared([Feature(name="x", bins=bins, kind="number")])
    assert not declared.is_known
    assert declared.cell((1.0,)) is None
    grid = declared.chosen([(value,) for value in first])
    assert grid.is_known
    assert Grid.loads(grid.dumps()) == grid
    cells = [grid.cell((value,)) for value in sorted(first + later)]
    assert cells == sorted(cells)
    assert all(0 <= cell[0] < bins for cell in cells)


@given(
    st.floats(-1e300, 1e300),
    st.lists(st.floats(-1.0, 1.0), min_size=1, max_size=30),
    st.floats(allow_nan=False, allow_infinity=False),
)
def test_close_and_extreme_values_have_bins(centre: float, offsets: list[float], later: float) -> None:
    declared = Grid.declared([Feature(name="x", bins=2, kind="number")])
    grid = declared.chosen([(centre + offset,) for offset in offsets])
    assert all(grid.cell((value,)) in ((0,), (1,)) for value in (centre, centre + offsets[0], later))


def test_a_value_far_outside_has_the_last_bin() -> None:
    declared = Grid.declared([Feature(name="x", bins=2, kind="number")])
    grid = declared.chosen([(0.0,), (1e-3,)])
    assert [grid.cell((value,)) for value in (-1.7e308, 1.7e308)] == [(0,), (1,)]


def test_bins_separate_values_that_differ_in_the_eighth_digit() -> None:
    declared = Grid.declared([Feature(name="x", bins=2, kind="number")])
    grid = declared.chosen([(1234567.1,), (1234567.3,)])
    assert [grid.cell((value,)) for value in (1234567.12, 1234567.28)] == [(0,), (1,)]


def test_declared_ends_hold_from_the_start_and_printed_bins_stay_what_they_are() -> None:
    grid = Grid.declared([Feature(name="x", bins=4, kind="number", low=0.0, high=1.0), Feature(name="y", bins=9)])
    assert grid.is_known
    assert [grid.cell((value, 7)) for value in (-1.0, 0.0, 0.26, 0.99, 5.0)] == [(0, 7), (0, 7), (1, 7), (3, 7), (3, 7)]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{name: a, bins: 4, kind: number, low: 1}", "needs both ends"),
        ("{name: a, bins: 4, kind: number, low: 1, high: 1}", "less than high"),
        ("{name: a, bins: 4, low: 0, high: 1}", "need kind: number"),
        ("{name: a, bins: 4, kind: float}", "'bin' or 'number'"),
    ],
)
def test_wrong_ends_are_one_line(toy: Path, line: str, words: str) -> None:
    text = (toy / "problem.yaml").read_text()
    (toy / "problem.yaml").write_text(text.replace("{name: remainder, bins: 7, meaning: of the guess by seven}", line))
    with pytest.raises(ProblemError) as caught:
        load_problem(toy)
    assert words in str(caught.value)


def searched(toy: Path, outputs: Path, evaluations: int, workers: int = 1, begun: Path | None = None):
    settings = [f"budget.evaluations={evaluations}", f"workers={workers}", "archive.migration_period=3"]
    config = build_config({}, settings, "test")
    made = []

    def opening():
        made.append(
            reopen(begun, settings[:2]) if begun else make_folder(toy.parent.parent, outputs, load_problem(toy), config)
        )
        return made[-1]

    launch(config, toy.parent.parent, load_problem(toy), opening, lambda progress: None)
    with Store(made[-1].database, readonly=True) as store:
        told = [(one.source, one.candidate.evaluation.features, one.placed) for one in store.records()]
        return made[-1].path, store.grid, told, [one.candidate.evaluation.features for one in store.binned()]


@pytest.mark.slow
def test_bins_are_chosen_from_the_first_candidates_and_kept_by_a_run_that_goes_on(toy: Path, tmp_path: Path) -> None:
    text = (toy / "problem.yaml").read_text()
    (toy / "problem.yaml").write_text(text.replace("bins: 7, meaning: of the guess by seven", "bins: 5, kind: number"))
    (toy / "eval.py").write_text((toy / "eval.py").read_text().replace("(int(value) % 7,)", "(float(value) / 3,)"))
    _, grid, told, binned = searched(toy, tmp_path / "a", 30)
    assert grid is not None
    assert grid.is_known
    assert any(isinstance(value, float) for features in (one[1] for one in told) if features for value in features)
    assert {type(value) for features in binned if features for value in features} == {int}
    assert len({features for features in binned if features}) > 1
    path, early, first, unknown = searched(toy, tmp_path / "b", FIRST // 2)
    assert early is None
    assert set(unknown) == {None}
    assert first == told[: len(first)]
    _, again, resumed, _ = searched(toy, tmp_path / "b", 30, workers=2, begun=path)
    assert (again, resumed) == (grid, told)
    islands = [{one.candidate.evaluation.features for one in island} for island in read_run(path).islands]
    assert all(len(cells) == len(island) for cells, island in zip(islands, read_run(path).islands, strict=True))
