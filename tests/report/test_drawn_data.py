"""What figures for papers show, read back from their artists, is what the run holds."""

import itertools
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle

from oragent._base.direction import Direction
from oragent._base.errors import StoreError
from oragent.report.pages.charts import BEST, FAILED, apply_style
from oragent.report.run import ProgressPoint, RunData, load_run
from oragent_benchmarks.search.paper_figures import (
    KINDS,
    Shades,
    choose_limits,
    color_scale,
    draw_archive,
    draw_convergence,
    draw_lineage,
    draw_paired,
    map_islands,
    write_figure,
)
from tests.report.runs import FEATURES, describe, searched, write


@pytest.fixture(params=["minimize", "maximize"])
def direction(request: pytest.FixtureRequest) -> str:
    return request.param


def make_run(folder: Path, direction: str, features: int = 2, count: int = 40) -> RunData:
    describe(folder, direction, FEATURES[:features])
    write(folder, searched(count, direction=direction, features=features > 0), direction=direction)
    return load_run(folder)


def rectangles(axes) -> list[Rectangle]:
    return [patch for patch in axes.patches if isinstance(patch, Rectangle)]


def test_each_elite_is_a_cell_with_its_score_and_the_best_is_framed(direction: str, tmp_path: Path) -> None:
    data = make_run(tmp_path, direction)
    pick = min if direction == "minimize" else max
    with apply_style("archive"):
        figure = draw_archive(data)
    panels = [axes for axes in figure.axes if axes.get_xlabel()]
    assert len(panels) == len(data.islands) == 2
    framed = []
    for elites, axes in zip(data.islands, panels, strict=True):
        scores: dict[tuple[int, int], float] = {}
        for elite in elites:
            evaluation = elite.candidate.evaluation
            cell = (evaluation.features[0], evaluation.features[1])
            scores[cell] = pick(scores.get(cell, evaluation.score), evaluation.score)
        # All bins are drawn, and bin k lies around k.
        assert axes.get_xlim() == (-0.5, 3.5)
        assert axes.get_ylim() == (-0.5, 2.5)
        assert [label.get_text() for label in axes.get_xticklabels()] == ["0", "1", "2", "3"]
        assert [line.get_xdata()[0] for line in axes.lines if line.get_xdata()[0] == line.get_xdata()[1]] == [
            0.5,
            1.5,
            2.5,
        ]
        cells = {
            (patch.get_x() + 0.5, patch.get_y() + 0.5): patch for patch in rectangles(axes) if patch.get_width() == 1
        }
        assert set(cells) == set(scores)
        assert all(patch.get_height() == 1 for patch in cells.values())
        texts = {text.get_position(): text for text in axes.texts}
        assert {place: text.get_text() for place, text in texts.items()} == {
            cell: f"{score:.4g}" for cell, score in scores.items()
        }
        assert all(text.get_ha() == text.get_va() == "center" for text in texts.values())
        for place, text in texts.items():
            # Text is legible: light on dark, dark on light.
            background, ink = (
                np.dot(color[:3], (0.299, 0.587, 0.114)) for color in (cells[place].get_facecolor(), _rgb(text))
            )
            assert abs(background - ink) > 0.35
        # A better score is at least as dark.
        order = sorted(scores, key=scores.get, reverse=direction == "maximize")
        shades = [sum(cells[cell].get_facecolor()[:3]) for cell in order]
        assert shades == sorted(shades)
        framed += [
            (scores[round(patch.get_x() + patch.get_width() / 2), round(patch.get_y() + patch.get_height() / 2)])
            for patch in rectangles(axes)
            if patch.get_width() < 1
        ]
        for patch in rectangles(axes):
            centre = (patch.get_x() + patch.get_width() / 2, patch.get_y() + patch.get_height() / 2)
            assert centre == pytest.approx((round(centre[0]), round(centre[1])))
    assert framed
    assert set(framed) == {data.best.score}


def _rgb(text) -> tuple[float, float, float]:
    value = to_hex(text.get_color())
    return tuple(int(value[at : at + 2], 16) / 255 for at in (1, 3, 5))


def test_with_one_feature_islands_are_rows(direction: str, tmp_path: Path) -> None:
    data = make_run(tmp_path, direction, features=1)
    (drawn,) = map_islands(data)
    assert drawn.rows == (0, 1)
    assert drawn.columns == (0, 1, 2, 3)
    pick = min if direction == "minimize" else max
    for (column, row), score in drawn.scores.items():
        inside = [e.candidate.evaluation for e in data.islands[row]]
        assert score == pick(e.score for e in inside if e.features[0] == column)


def test_without_features_scores_are_drawn_by_rank(direction: str, tmp_path: Path) -> None:
    data = make_run(tmp_path, direction, features=0)
    with apply_style("archive"):
        (axes,) = draw_archive(data).axes
    curves = [(list(line.get_xdata()), list(line.get_ydata())) for line in axes.lines]
    expected = [[elite.candidate.evaluation.score for elite in elites] for elites in data.islands]
    assert curves == [(list(range(1, len(scores) + 1)), scores) for scores in expected]


@pytest.mark.parametrize(("best", "worst"), [(1.0, 3.0), (3.0, 1.0)])
def test_shades_are_darkest_at_the_best(best: float, worst: float) -> None:
    shades = Shades(best, worst)
    assert shades.color_of(best) == color_scale()(1.0)
    assert shades.color_of(worst) == shades.color_of(worst + 5 * (worst - best)) == color_scale()(0.0)
    assert shades.color_of((best + worst) / 2) == color_scale()(0.5)
    bar = shades.color_bar
    assert bar.get_clim() == (1.0, 3.0)
    assert bar.to_rgba(best) == pytest.approx(color_scale()(1.0), abs=0.02)
    assert bar.to_rgba(worst) == pytest.approx(color_scale()(0.0), abs=0.02)


def test_the_curve_of_the_best_never_gets_worse_and_names_its_references(direction: str, tmp_path: Path) -> None:
    data = make_run(tmp_path, direction)
    with apply_style("convergence"):
        (axes,) = draw_convergence(data).axes
    candidates, best, seed = axes.lines[:3]
    scores = [record.score for record in data.records if record.score is not None]
    assert sorted(set(candidates.get_ydata())) == sorted(set(scores))
    accumulate = np.minimum.accumulate if direction == "minimize" else np.maximum.accumulate
    assert list(best.get_ydata()) == list(accumulate(candidates.get_ydata()))
    assert set(seed.get_ydata()) == {6.94}
    low, high = axes.get_ylim()
    assert low < data.best.score < high
    labels = {line.get_label(): line.get_ydata()[0] for line in axes.lines if "published" in str(line.get_label())}
    assert all(low <= value <= high for value in labels.values())
    # A far score, which is once in the run, does not stretch the axis.
    assert high - low < 20


def test_a_lineage_joins_each_candidate_with_its_first_parent(direction: str, tmp_path: Path) -> None:
    data = make_run(tmp_path, direction)
    with apply_style("lineage"):
        (axes,) = draw_lineage(data).axes
    places = {record.id: (record.round, record.score) for record in data.records if record.score is not None}
    edges = {
        (places[record.candidate.parents[0]], places[record.id])
        for record in data.records
        if record.id in places and record.candidate.parents and record.candidate.parents[0] in places
    }
    *drawn, points, line = axes.lines
    assert {tuple(zip(*edge.get_data(), strict=True)) for edge in drawn} == edges
    assert set(zip(*points.get_data(), strict=True)) == set(places.values())
    ancestors = list(zip(*line.get_data(), strict=True))
    assert ancestors[-1] == (data.best.round, data.best.score)
    assert ancestors[0] == places["0.0"]
    assert all(edge in edges for edge in itertools.pairwise(ancestors))


def test_pairs_are_sorted_gains_in_two_colours(direction: str, tmp_path: Path) -> None:
    describe(tmp_path, direction)
    write(tmp_path, searched(20, direction=direction), direction=direction)
    gains = {"50": [3.0, -1.0, 0.5], "100": [2.0, 0.0]}
    sign = -1 if direction == "minimize" else 1
    with closing(sqlite3.connect(tmp_path / "run.db")) as database, database:
        for fingerprint, score in database.execute("SELECT fingerprint, score FROM evaluations").fetchall():
            shift = 0.0 if score == 6.94 else 1.0
            metrics = {"by_instance": {size: [10 + sign * shift * gain for gain in row] for size, row in gains.items()}}
            database.execute(
                "UPDATE evaluations SET metrics = ? WHERE fingerprint = ?", (json.dumps(metrics), fingerprint)
            )
    with apply_style("paired"):
        (axes,) = draw_paired(load_run(tmp_path)).axes
    bars = rectangles(axes)
    assert [bar.get_height() for bar in bars] == pytest.approx([-1.0, 0.0, 0.5, 2.0, 3.0])
    assert [bar.get_x() + bar.get_width() / 2 for bar in bars] == pytest.approx([1, 2, 3, 4, 5])
    colors = [to_hex(bar.get_facecolor()) for bar in bars]
    assert colors == [to_hex(FAILED), *[to_hex(BEST)] * 4]


def limits(
    direction: Direction, best: list[float], scores: list[float], references: list[float]
) -> tuple[float, float]:
    points = [
        ProgressPoint(**{**dict.fromkeys(ProgressPoint.__dataclass_fields__, 0), "at": at, "score": score, "best": top})
        for at, (score, top) in enumerate(zip(scores, best, strict=True))
    ]
    return choose_limits(points, references, direction)


def test_the_path_of_a_figure_is_returned(tmp_path: Path) -> None:
    make_run(tmp_path, "minimize", count=8)
    assert write_figure(tmp_path, "lineage", "svg") == tmp_path / "figures" / "lineage.svg"
    out = tmp_path / "elsewhere" / "a.svg"
    assert write_figure(tmp_path, "lineage", "svg", out) == out
    assert out.read_bytes() == (tmp_path / "figures" / "lineage.svg").read_bytes()
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError):
        write_figure(tmp_path, "lineage", "svg", tmp_path / "file" / "a.svg")
    assert set(KINDS) == {"archive", "convergence", "lineage", "paired"}
