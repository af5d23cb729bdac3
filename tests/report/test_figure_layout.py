"""Sizes, panels, ticks, styles and limits of figures for papers."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from oragent._base.direction import Direction
from oragent.report.pages.charts import (
    BEST,
    EMPTY,
    FAILED,
    KEPT,
    MUTED,
    OTHER,
    Drawing,
    apply_style,
    render_figure,
    save_page,
)
from oragent.report.run import RunData
from oragent.report.run_configuration import Axis
from oragent_benchmarks.search.paper_figures import (
    KINDS,
    MAX_AXIS_BINS,
    MAX_PANELS,
    MAX_TREE,
    _list_bins,
    draw_archive,
    map_islands,
    write_figure,
)

from .test_drawn_data import limits, make_run, rectangles

STEPS, PLAIN = "steps-post", "default"
# Colour, width, style, mark, size of the mark and order of each line.
LINES = {
    "convergence": {
        (OTHER, None, "None", ".", 3, 2, PLAIN), (BEST, 1.5, "-", "None", None, 2, STEPS),
        (MUTED, 0.8, "--", "None", None, 2, PLAIN), (FAILED, 0.8, ":", "None", None, 2, PLAIN),
    },
    "lineage": {
        (OTHER, 0.5, "-", "None", None, 1, PLAIN), (KEPT, None, "None", ".", 3, 2, PLAIN),
        (BEST, 1.5, "-", "o", 3.5, 2, PLAIN),
    },
    "paired": {(MUTED, 0.8, "-", "None", None, 2, PLAIN)},
}  # fmt: skip


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> RunData:
    made = make_run(tmp_path_factory.mktemp("run"), "minimize")
    metrics = ({"by_instance": {"9": [5.0 + at * shift for at in (-1, 2, 3)]}} for shift in (0, 1))
    records = [
        replace(
            record, candidate=replace(record.candidate, evaluation=replace(record.candidate.evaluation, metrics=of))
        )
        for record, of in zip((made.seed, made.best), metrics, strict=True)
    ]
    about = replace(made.about, published={"near": made.best.score, "far": 1e3, "word": "x"})
    return replace(made, seed=records[0], best=records[1], about=about)


def draw(kind: str, data: RunData) -> Figure:
    with apply_style(kind):
        return KINDS[kind](data)


@pytest.mark.parametrize("kind", LINES)
def test_lines_of_a_figure_have_their_styles(kind: str, data: RunData) -> None:
    figure = draw(kind, data)
    (axes,) = figure.axes
    assert tuple(figure.get_size_inches()) == (5.0, 3.2)
    styles = {
        (
            to_hex(line.get_color()).upper(),
            None if line.get_linestyle() == "None" else line.get_linewidth(),
            line.get_linestyle(),
            line.get_marker(),
            None if line.get_marker() == "None" else line.get_markersize(),
            line.get_zorder(),
            line.get_drawstyle(),
        )
        for line in axes.lines
    }
    assert styles == LINES[kind]
    # Evaluations, rounds and instances are whole numbers.
    assert all(tick == round(tick) for tick in axes.get_xticks())
    assert len(axes.xaxis.get_major_locator().tick_values(0, 1000)) <= 7
    legend = axes.get_legend()
    assert (legend is not None) is (kind == "convergence")
    if legend is not None:
        assert [text.get_text().split()[-1] for text in legend.get_texts()] == ["seed", "near"]
        assert not legend.get_frame_on()
        assert {text.get_fontsize() for text in legend.get_texts()} == {7.0}
    if kind == "paired":
        assert [bar.get_width() for bar in rectangles(axes)] == pytest.approx([0.9] * 3)


@pytest.mark.parametrize(
    ("islands", "across", "down", "width"),
    [(1, 1, 1, 6.2), (2, 2, 1, 9.4), (4, 2, 2, 9.4), (5, 3, 2, 9.4), (12, 3, 3, 9.4)],
)
def test_islands_are_panels_in_a_grid(islands: int, across: int, down: int, width: float, data: RunData) -> None:
    figure = draw("archive", replace(data, islands=data.islands[:1] * islands))
    *panels, bar = figure.axes
    assert len(panels) == across * down
    grid = panels[0].get_subplotspec().get_gridspec()
    assert (grid.ncols, grid.nrows) == (across, down)
    side = (width - 1) / across
    # Four columns and three rows; a colour bar takes an inch.
    assert tuple(figure.get_size_inches()) == pytest.approx(
        (width, max(1.9, min(side * 3 / 4 + 0.55, side) * down + 0.25))
    )
    shown = [panel for panel in panels if panel.axison]
    assert len(shown) == min(islands, MAX_PANELS)
    titles = [panel.get_title("left") for panel in shown]
    assert titles == ([f"island {number}" for number in range(len(shown))] if islands > 1 else [""])
    assert bar.yaxis_inverted()
    for panel in shown:
        assert to_hex(panel.get_facecolor()).upper() == EMPTY
        assert {line.get_linewidth() for line in panel.lines} == {min(1.2, 0.06 * side * 72 / 4)}
        assert {line.get_zorder() for line in panel.lines} == {0.5}
        frames = [patch for patch in rectangles(panel) if not patch.get_fill()]
        assert [(to_hex(frame.get_edgecolor()).upper(), frame.get_linewidth(), frame.get_zorder(), frame.get_width(), frame.get_height())
                for frame in frames] == [(FAILED, 1.6, 3, 0.92, 0.92)] * len(frames)  # fmt: skip
        # Five characters of a score need about a third of an inch.
        assert bool(panel.texts) is (side * 72 / 4 > 5 * 4.9)
        assert not any(spine.get_visible() for spine in panel.spines.values())


def test_higher_is_on_top_of_the_colour_bar_where_higher_is_better(tmp_path: Path) -> None:
    assert not draw("archive", make_run(tmp_path, "maximize", count=10)).axes[-1].yaxis_inverted()


@pytest.mark.parametrize("bins", [1, 12, 13, MAX_AXIS_BINS, MAX_AXIS_BINS + 1])
def test_an_axis_has_at_most_twelve_ticks_and_forty_bins(bins: int, data: RunData) -> None:
    first, second = data.about.axes
    wide = replace(data, about=replace(data.about, axes=(Axis(first.name, bins, ""), second)))
    (island, *_) = map_islands(wide)
    used = sorted({column for island in map_islands(wide) for column, _ in island.scores})
    assert island.columns == (tuple(range(max(bins, max(used) + 1))) if bins <= MAX_AXIS_BINS else tuple(used))
    panel = draw("archive", wide).axes[0]
    labels = [label.get_text() for label in panel.get_xticklabels()]
    step = -(-len(island.columns) // 12)
    assert labels == [str(bin_) for bin_ in island.columns][::step]
    assert list(panel.get_xticks()) == list(range(0, len(island.columns), step))


@pytest.mark.parametrize(
    ("low", "high", "is_whole"), [(-30, 20, False), (-20, 19, True), (-20, 20, False), (5, 39, True)]
)
def test_bins_far_out_of_range_are_left_out(low: int, high: int, is_whole: bool) -> None:
    whole = tuple(range(min(low, 0), high + 1))
    assert _list_bins(3, [high, low, 1, low]) == (whole if is_whole else tuple(sorted({low, 1, high})))


def test_a_score_is_written_where_it_fits_its_cell(data: RunData) -> None:
    first, second = data.about.axes
    narrow = replace(data, about=replace(data.about, axes=(replace(first, bins=40), second)))
    assert not draw_archive(narrow).axes[0].texts


def test_a_ranking_shows_the_island_of_the_best(tmp_path: Path) -> None:
    data = make_run(tmp_path, "minimize", features=0, count=20)
    data = replace(data, islands=(*data.islands, (), *data.islands[:1] * MAX_PANELS))
    figure = draw("archive", data)
    (axes,) = figure.axes
    assert tuple(figure.get_size_inches()) == pytest.approx((6.6, 3.1))
    axes.set_xlim(1, 3)
    assert all(tick == round(tick) for tick in axes.get_xticks())
    assert len(axes.lines) == MAX_PANELS
    for island, line in zip(data.islands, axes.lines, strict=False):
        is_best = bool(island) and island[0].id == data.best.id
        assert to_hex(line.get_color()).upper() == (BEST if is_best else MUTED)
        assert (line.get_markersize(), line.get_linewidth(), line.get_alpha(), line.get_marker()) == (3.5, 1, 0.9, "o")
    named = {text.get_text().split()[-1]: text.xy for text in axes.texts}
    assert named == {
        str(number): (len(island), island[-1].score)
        for number, island in enumerate(data.islands[:MAX_PANELS])
        if island
    }
    (single,) = draw("archive", replace(data, islands=data.islands[:1])).axes
    assert not single.texts


def test_many_marks_are_one_picture(data: RunData) -> None:
    for count in (600, 601):
        points = data.by_evaluations[:1] * count
        assert draw("convergence", replace(data, by_evaluations=points)).axes[0].lines[0].get_rasterized() is (
            count > 600
        )


def test_a_large_lineage_is_cut_and_has_the_ancestors_of_the_best(data: RunData) -> None:
    early = [record for record in data.records if record.score is not None][:1]
    many = replace(data, records=(*early * MAX_TREE, *data.records))
    *_, points, line = draw("lineage", many).axes[0].lines
    assert len(set(points.get_xdata())) == len({early[0].round, *(record.round for record in data.descent)})
    assert len(line.get_xdata()) == len(data.descent)


# Scores with their limits, computed by hand: the spread is 4, the worst tenth is cut, and the margins are 7 %.
LIMITS = [
    ([10.0, 12.0, 11.0, 14.0, 2.0], [], (8.65, 14.35)),
    ([10.0, 12.0, 11.0, 14.0, 2.0], [4.0, 19.0], (8.65, 14.35)),
    ([10.0, 12.0, 11.0, 14.0, 2.0], [4.1, 18.9], (4.1 - 0.07 * 14.8, 18.9 + 0.07 * 14.8)),
    # Nothing is better than the seed: the middle half spans 3.
    ([10.0, 8.0, 6.0, 4.0], [], (9.25 - 0.21, 10.21)),
    # The curve takes four fifths: a quarter of it below the seed.
    ([10.0, 9.95, 14.0], [], (9.96 - 0.07 * 4.04, 14 + 0.07 * 4.04)),
    ([5.0, 5.0, 5.0], [], (5 - 0.007, 5 + 0.007)),
    ([0.0, 0.0], [], (-7e-11, 7e-11)),
]  # fmt: skip


@pytest.mark.parametrize("direction", Direction)
@pytest.mark.parametrize(("scores", "references", "expected"), LIMITS)
def test_limits_are_those_computed_by_hand(
    direction: Direction, scores: list[float], references: list[float], expected: tuple[float, float]
) -> None:
    sign = direction.sign
    best = np.maximum.accumulate(scores)
    found = limits(
        direction, list(sign * best), [sign * score for score in scores], [sign * value for value in references]
    )
    assert found == pytest.approx(expected if sign > 0 else (-expected[1], -expected[0]), rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("direction", Direction)
@pytest.mark.parametrize(
    ("losses", "best", "worst"),
    # Twice the distance of the median, at most the worst tenth; equal scores get a hundredth.
    [([1, 2, 3, 4, 100], 1, 5), ([1, 3, 3, 3.5, 4], 1, 3.8), ([10, 10, 10], 10, 10.1), ([0, 0], 0, 1e-9)],
)
def test_the_colours_end_at_twice_the_distance_of_the_median(
    direction: Direction, losses: list[float], best: float, worst: float, data: RunData
) -> None:
    sign = -direction.sign
    elites = [
        replace(
            data.best,
            candidate=replace(
                data.best.candidate, evaluation=replace(data.best.candidate.evaluation, score=sign * loss)
            ),
        )
        for loss in losses
    ]
    changed = replace(
        data, islands=(tuple(elites[:1]), tuple(elites[1:])), about=replace(data.about, direction=direction)
    )
    bar = draw("archive", changed).axes[-1]
    assert sorted(bar.get_ylim()) == pytest.approx(sorted((sign * best, sign * worst)))


@pytest.mark.parametrize(("suffix", "head"), [("pdf", b"%PDF"), ("svg", b"<?xml"), ("png", b"\x89PNG")])
def test_a_figure_is_the_same_at_any_time_and_keeps_its_text(suffix: str, head: bytes, tmp_path: Path) -> None:
    make_run(tmp_path, "minimize", count=6)
    out = tmp_path / "a" / "b" / "x"
    first, second = (write_figure(tmp_path, "lineage", suffix, out).read_bytes() for _ in range(2))
    assert first == second
    assert first.startswith(head)
    assert not any(word in first for word in (b"CreationDate", b"<dc:date>", b"Software"))
    assert (b"TrueType" in first or b"Type42" in first or b"CIDFontType2" in first) is (suffix == "pdf")
    if suffix == "png":
        # Width and height: 5 and 3.2 inches at 300 dots.
        assert (int.from_bytes(first[16:20]), int.from_bytes(first[20:24])) == (1500, 960)


def test_a_figure_in_a_page_has_a_size_and_only_ids_that_are_used(tmp_path: Path) -> None:
    svg = (
        '<?xml version="1.0"?><!DOCTYPE svg><svg width="100.4pt" height="50pt" viewBox="0 0 100 50"><defs>'
        '<path id="a"/><path id="b"/><path id="c"/></defs><use href="#a"/><g clip-path="url(#b)" id="d"/></svg>'
    )
    drawing = Drawing("name", "caption", svg, b"png")
    # Points are drawn half as large again.
    assert drawing.inline == (
        '<svg viewBox="0 0 100 50" style="max-width:151px"><defs><path id="a"/><path id="b"/><path/></defs>'
        '<use href="#a"/><g clip-path="url(#b)"/></svg>'
    )
    assert Drawing("", "", "<svg></svg>", b"").inline == '<svg style=""></svg>'
    save_page(tmp_path, [drawing, Drawing("empty", "", "<p>", b"")], "page")
    written = {str(path.relative_to(tmp_path)): path.read_bytes() for path in tmp_path.rglob("*.*")}
    assert written == {"report.html": b"page", "figures/name.svg": svg.encode(), "figures/name.png": b"png"}


def test_a_drawn_figure_is_the_same_each_time_at_160_dots() -> None:
    def make() -> Figure:
        figure = Figure(figsize=(2, 1))
        figure.subplots().plot([1, 2], clip_on=True)
        return figure

    first, second, other = (render_figure(name, "c", make) for name in ("a", "a", "b"))
    assert first == second
    assert first.svg != other.svg
    assert not any(word in first.svg for word in ("<dc:date>", "<dc:creator>"))
    assert b"Software" not in first.png
    assert (int.from_bytes(first.png[16:20]), int.from_bytes(first.png[20:24])) == (320, 160)
