from html.parser import HTMLParser
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from oragent._base.errors import StoreError
from oragent.report import terminal
from oragent.report.live.offline import write_report
from oragent.report.run import load_run
from oragent.report.terminal import show_run

from . import runs
from .runs import Made

VOID = {"meta", "br", "img", "link", "input", "hr"}


class Page(HTMLParser):
    """Tags, attributes and text of a page; asserts that tags are closed in their order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.open: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def printed(folder: Path, width: int) -> str:
    out = StringIO()
    show_run(load_run(folder), Console(file=out, width=width, force_terminal=True, color_system=None))
    return out.getvalue()


def test_the_page_says_what_the_run_gained_and_how_to_go_on(run: Path, report: Path) -> None:
    data, page = load_run(run), report.read_text()
    text, summary = Page(runs.without_scripts(page)).text, runs.data_of(page)["summary"]
    score = data.best.candidate.evaluation.score
    assert f"6.94 → {score:g}" in text
    assert "lower is better" in text
    assert "the budget of 60 evaluations is used up" in text
    assert f"oragent resume {run}" in text
    assert sum(group["money"] for group in summary["calls"]) == 0.75
    assert sum(group["unpriced"] for group in summary["calls"]) == 1
    assert summary["published"] == {"best": 5.981}
    assert data.best.source.strip() in text


def test_the_same_run_makes_the_same_page(run: Path, report: Path) -> None:
    first = report.read_bytes()
    assert report == run / "report.html"
    assert write_report(run).read_bytes() == first


def test_nothing_that_a_candidate_says_leaves_its_place(hostile: Path) -> None:
    text = write_report(hostile).read_text()
    page = Page(text)
    (policy,) = [a["content"] for _, a in page.tags if a.get("http-equiv") == "Content-Security-Policy"]
    nonce = str(policy).split("'nonce-")[1].split("'")[0]
    assert all(a["nonce"] == nonce for name, a in page.tags if name in ("script", "style"))
    shown = Page(runs.without_scripts(text))
    assert {name for name, _ in shown.tags} <= {"h1", "h2", "ul", "li", "pre", "p", "code"}
    assert 'alert("x")' in shown.text
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_nothing_that_a_candidate_says_drives_the_terminal(hostile: Path) -> None:
    text = printed(hostile, 100)
    assert "\\u001b[31m" in text
    assert "\u202e" not in text
    assert "\x1b[31m" not in text


def test_rich_markup_in_a_message_is_shown_as_it_is(tmp_path: Path) -> None:
    runs.describe(tmp_path)
    broken = Made("x = 1", None, None, origin="[bold]graft[/bold]", message="KeyError: [red]x[/red] [/nothing]")
    runs.write(tmp_path, [[Made(runs.SEED, 6.0, (0, 0), (), "seed")], [broken]])
    assert "KeyError: [red]x[/red] [/nothing]" in printed(tmp_path, 120)


@pytest.mark.parametrize("width", [80, 120])
def test_the_terminal_report_fits_its_width_and_has_all_its_parts(run: Path, width: int) -> None:
    text, data = printed(run, width), load_run(run)
    # The command to go on is one line, as it can be copied only whole.
    assert max(len(line) for line in text.splitlines() if not line.startswith("to go on: ")) <= width
    score = f"{data.best.candidate.evaluation.score:.6g}"
    assert f"6.94 → {score}" in text
    assert "-    return 1.0 / distances" not in text
    assert "+    distances = distances **" in text
    for part in (
        "Best program",
        "Against the seed",
        "Archive",
        "Failures",
        "Time and cost",
        "ZeroDivisionError",
        "as reflect",
    ):
        assert part in text


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_the_elites_are_listed_best_first_with_a_positive_gain_where_they_are_better(
    tmp_path: Path, direction: str
) -> None:
    runs.describe(tmp_path, direction)
    runs.write(tmp_path, runs.searched(60, direction=direction), direction=direction)
    rows, left_out = terminal.list_elites(load_run(tmp_path), 5)
    assert [row.change for row in rows] == sorted((row.change for row in rows), key=lambda text: -float(text[:-2]))
    assert rows[0].change.startswith("+")
    assert left_out == len({record.id for island in load_run(tmp_path).islands for record in island}) - 5


def test_the_seed_on_all_islands_is_listed_once(tmp_path: Path) -> None:
    runs.describe(tmp_path)
    runs.write(tmp_path, [[Made(runs.SEED, 6.0, (0, 0), (), "seed")]])
    ((row,), _) = terminal.list_elites(load_run(tmp_path), 5)
    assert (row.id, row.islands, row.cell, row.change) == ("0.0", "all", "0, 0", "+0.00 %")


def test_the_most_frequent_message_of_a_failure_is_its_example(tmp_path: Path) -> None:
    runs.describe(tmp_path)
    broken = [
        [Made(f"x = {n}", None, None, message=text)] for n, text in enumerate(["rare", "often", "often", "rare too"])
    ]
    runs.write(tmp_path, [[Made(runs.SEED, 6.0, (0, 0), (), "seed")], *broken])
    (row,) = terminal.list_failures(load_run(tmp_path))
    assert (row.message, row.alike, row.number, row.example, row.share) == ("often", 2, 4, "3.0", 0.8)


@pytest.mark.parametrize("features", [[], runs.FEATURES])
def test_a_run_of_only_the_seed_has_a_report(tmp_path: Path, features: list[dict[str, object]]) -> None:
    runs.describe(tmp_path, features=features)
    runs.write(tmp_path, [[Made(runs.SEED, 6.0, (0, 0) if features else None, (), "seed")]])
    text = Page(runs.without_scripts(write_report(tmp_path).read_text())).text
    assert "6 → 6" in text
    assert "not ended: interrupted, or still running" in text
    assert "6 → 6  as good as the seed" in printed(tmp_path, 80)


@pytest.mark.slow
def test_a_long_run_makes_a_page_below_a_megabyte(tmp_path: Path) -> None:
    runs.describe(tmp_path)
    runs.write(tmp_path, [[made] for (made,) in runs.searched(600)])
    assert write_report(tmp_path).stat().st_size < 1 << 20


def test_a_folder_that_cannot_be_written_is_said_in_one_line(tmp_path: Path) -> None:
    runs.describe(tmp_path)
    runs.write(tmp_path, [[Made(runs.SEED, 6.0, (0, 0), (), "seed")]])
    (tmp_path / "report.html").mkdir()
    with pytest.raises(StoreError) as caught:
        write_report(tmp_path)
    assert len(str(caught.value).splitlines()) == 1
