"""A benchmark on figures, pages and terminals: any number of contestants, by any name."""

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from rich.console import Console

from oragent.evals import bench
from oragent.evals.bench.charts import assign_styles, best_so_far, draw_benchmark
from oragent.evals.bench.driver import Board, rich_table
from oragent.evals.bench.plan import BenchCell, BenchPlan
from oragent.evals.bench.result import CellEnd, CellReport
from oragent.evals.bench.summary import BenchSummary, summarise_results
from oragent.evals.bench.tables import TextTable
from oragent.report.pages.html import make_environment
from tests.evals.bench.dice import TERMS, result, tournament

NASTY = "<b>$\\frac$\x1b[2J\u202e</b>"


def game(*players: str) -> BenchSummary:
    plan = BenchPlan(TERMS, {"d6": 6, "d20": 20, "d8": 8}, {name: {} for name in players}, (0, 1))
    return summarise_results(plan, [result(cell, [1, 2 + place % 4, 3]) for place, cell in enumerate(plan.cells)])


def test_contestants_are_told_apart_up_to_28() -> None:
    names = [f"player {number}" for number in range(28)]
    found = assign_styles(names)
    assert len({(look.color, look.linestyle) for look in found.values()}) == 28
    assert len({(look.color, look.marker) for look in found.values()}) == 28
    assert len({look.color for look in list(found.values())[:7]}) == 7


def test_a_look_depends_on_the_place_alone() -> None:
    first = assign_styles(["ann", "bob"])
    assert assign_styles(["ann", "bob", "cid"]).items() >= first.items()
    assert assign_styles(["somebody", "else"])["else"] == first["bob"]
    assert set(assign_styles([str(place) for place in range(100)])) == {str(place) for place in range(100)}


@pytest.mark.slow
@pytest.mark.parametrize("players", [("ann",), tuple(f"player {number}" for number in range(9)), ("ann", NASTY)])
def test_any_number_of_contestants_is_drawn_by_any_name(players: tuple[str, ...]) -> None:
    drawings = draw_benchmark(game(*players))
    assert sorted(drawings) == ["curves", "finals"]
    for drawing in drawings.values():
        texts = [element.text or "" for element in ElementTree.fromstring(drawing.svg).iter() if element.text]
        assert sum(text.startswith(players[-1][:3]) for text in texts) >= 1
        assert not any("\x1b" in text or "\u202e" in text for text in texts)
        assert drawing.caption.endswith("Dashes: the a one.")


@pytest.mark.slow
def test_without_curves_only_where_runs_ended_is_drawn() -> None:
    summary = game("ann", "bob")
    plan = tournament()
    flat = summarise_results(plan, [replace(one, curve=(), baselines={}) for one in summary.results])
    assert list(draw_benchmark(flat)) == ["finals"]


def test_a_run_stays_where_it_ended() -> None:
    runs = [result(BenchCell("d6", "ann", 0), [2, 1, 5]), result(BenchCell("d6", "ann", 1), [3])]
    assert best_so_far(runs, 5).tolist() == [[2, 2, 5, 5, 5], [3, 3, 3, 3, 3]]


def test_every_cell_that_was_seen_to_is_one_line_that_drives_no_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    plan = tournament("ann", NASTY, seeds=1)
    first, second, third, fourth = plan.cells
    with Board(plan) as board:
        board.show_progress(first, NASTY)
        board.report_cell(CellReport(first, CellEnd(), True, ""))
        board.report_cell(CellReport(second, CellEnd(), False, ""))
        board.report_cell(CellReport(third, CellEnd("the cup\nfell"), True, "nothing to check"))
        board.report_cell(CellReport(fourth, CellEnd("stopped by Ctrl-C", stopped=True), True, ""))
    said = capsys.readouterr().out
    assert "  1 of 4  d6 by ann, seed 0: complete\n" in said
    assert "seed 0: complete before\n" in said
    assert "  3 of 4  d20 by ann, seed 0: unfinished: the cup fell; nothing to check\n" in said
    assert "unfinished: stopped by Ctrl-C\n" in said
    assert "\x1b" not in said
    assert "\u202e" not in said


def test_a_table_shows_what_it_holds_and_drives_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    Console(width=120, force_terminal=False).print(rich_table(TextTable(("player", "eyes"), ((NASTY, "[red]3"),))))
    said = capsys.readouterr().out
    assert "<b>$\\frac$\\u001b[2J\\u202e</b>" in said
    assert "[red]3" in said


@pytest.mark.slow
def test_a_page_shows_figures_and_tables_and_escapes_their_texts() -> None:
    text = """{% from "parts.html" import figure, grid %}{{ figure(drawing) }}{{ grid(table, ("how",)) }}"""
    template = make_environment(Path(bench.__file__).parent).from_string(text)
    table = TextTable(("player", "eyes", "how"), ((NASTY, "3", "well"),))
    page = template.render(drawing=draw_benchmark(game("ann"))["finals"], table=table)
    assert page.count("<figure>") == page.count("<svg") == page.count("<table>") == 1
    assert '<th class="number">eyes</th><th>how</th>' in page
    assert '<td class="number">3</td><td>well</td>' in page
    assert "&lt;b&gt;$\\frac$\\u001b[2J\\u202e&lt;/b&gt;" in page
