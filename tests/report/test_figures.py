from pathlib import Path
from xml.etree import ElementTree

import matplotlib
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from oragent._base.direction import Direction
from oragent.report.pages.charts import Drawing, fit_label, render_figure
from oragent.report.run import ProgressPoint, RunData, load_run
from oragent_benchmarks.search.paper_figures import choose_limits, draw_archive, map_islands

from . import runs
from .runs import Made

SEED = Made(runs.SEED, 10.0, (0, 0, 0), (), "seed")


def a_run(folder: Path, features: list[tuple[str, int]], *made: Made, direction: str = "minimize", **more) -> RunData:
    named = [{"name": name, "bins": bins} for name, bins in features]
    runs.describe(folder, direction, named, **more)
    runs.write(folder, [[SEED], *([one] for one in made)], direction=direction)
    return load_run(folder)


def drawn(data: RunData) -> Drawing:
    return render_figure("archive", "", lambda: draw_archive(data))


def texts(drawing: Drawing) -> list[str]:
    return [
        "".join(node.itertext())
        for node in ElementTree.fromstring(drawing.svg).iter("{http://www.w3.org/2000/svg}text")
    ]


def curve(*scores: float, direction: str = "minimize") -> list[ProgressPoint]:
    better = min if direction == "minimize" else max
    return [ProgressPoint(n, score, better(scores[: n + 1])) for n, score in enumerate(scores)]


def test_a_hopeless_candidate_does_not_squash_the_curve() -> None:
    low, high = choose_limits(curve(7.0, 1e9, 6.5, 6.9, 6.8), [], Direction.MINIMIZE)
    assert low < 6.5
    assert 7.0 < high < 8.0


def test_a_far_reference_is_left_out_and_a_near_one_is_in() -> None:
    low, high = choose_limits(curve(7.0, 6.5), [0.1, 6.2], Direction.MINIMIZE)
    assert 6.0 < low < 6.2
    assert high < 7.5


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30),
    st.lists(st.floats(-1e6, 1e6), max_size=3),
    st.sampled_from(["minimize", "maximize"]),
)
@example([1.0, 1e-207, 0.0, 0.0, 0.0], [], "maximize")
def test_the_whole_curve_is_always_in_sight(scores: list[float], references: list[float], direction: str) -> None:
    points = curve(*scores, direction=direction)
    low, high = choose_limits(points, references, Direction(direction))
    assert low < min(point.best for point in points)
    assert max(point.best for point in points) < high


def test_the_map_shows_the_best_score_of_each_cell_and_the_features_names(tmp_path: Path) -> None:
    cells = [Made(runs.SEED + f"# {n}", 9.0 - n, (1, n % 2, n)) for n in range(3)]
    data = a_run(tmp_path, [("greed", 3), ("size", 2), ("kind", 4)], *cells)
    assert map_islands(data)[0].scores == {(0, 0): 10.0, (1, 0): 7.0, (1, 1): 8.0}
    assert map_islands(data)[1].scores == {(0, 0): 10.0}
    assert {"greed (bin)", "size (bin)", "island 0", "island 1", "7", "8"} <= set(texts(drawn(data)))


def test_the_map_keeps_the_higher_score_where_higher_is_better(tmp_path: Path) -> None:
    cells = [Made(runs.SEED + f"# {n}", 11.0 + n, (1, 0, n)) for n in range(3)]
    data = a_run(tmp_path, [("greed", 3), ("size", 2), ("kind", 4)], *cells, direction="maximize")
    assert map_islands(data)[0].scores[1, 0] == 13.0


def test_a_single_feature_puts_all_islands_on_one_map(tmp_path: Path) -> None:
    data = a_run(tmp_path, [("greed", 3)], Made(runs.SEED + "# 1", 9.0, (2,), island=1))
    (found,) = map_islands(data)
    assert found.scores == {(0, 0): 10.0, (0, 1): 10.0, (2, 1): 9.0}
    assert "island" in texts(drawn(data))


def test_wild_features_still_make_a_small_map(tmp_path: Path) -> None:
    data = a_run(tmp_path, [("a", 2), ("b", 2)], Made(runs.SEED + "# 1", 9.0, (10**18, -5)))
    assert map_islands(data)[0].columns == (0, 10**18)
    assert map_islands(data)[0].rows == (-5, -4, -3, -2, -1, 0, 1)


def test_without_features_the_islands_are_drawn_as_rankings(tmp_path: Path) -> None:
    runs.describe(tmp_path, features=[])
    runs.write(tmp_path, runs.searched(30, features=False))
    data = load_run(tmp_path)
    assert map_islands(data) == []
    assert "rank on its island" in texts(drawn(data))


@pytest.mark.slow
def test_figures_come_out_the_same_and_leave_matplotlib_as_it_was(run: Path) -> None:
    before = dict(matplotlib.rcParams)
    first = drawn(load_run(run))
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "red"}):
        assert drawn(load_run(run)) == first
    assert dict(matplotlib.rcParams) == before


def test_a_run_of_only_the_seed_is_drawn(tmp_path: Path) -> None:
    assert "10" in texts(drawn(a_run(tmp_path, [("a", 2), ("b", 2)])))


@pytest.mark.slow
def test_figures_stay_small_however_long_the_run(tmp_path: Path) -> None:
    runs.describe(tmp_path, features=[{"name": "a", "bins": 40}, {"name": "b", "bins": 40}])
    rounds = [[Made(f"{runs.SEED}# {n}", 10.0 - n / 1000, (n % 40, n // 40))] for n in range(1600)]
    runs.write(tmp_path, rounds)
    assert len(drawn(load_run(tmp_path)).svg) < 300_000


@pytest.mark.parametrize("text", ["$\\frac{1}{0}$", "日本語", "\x1b[31m", "a\nb", "\ud800"])
def test_any_text_becomes_a_label_that_the_font_has(text: str) -> None:
    assert fit_label(text).isprintable()
    assert "日" not in fit_label(text)
