"""The final round and the pictures of a run: asked for by name, done once for what the programs are, bounded."""

import base64
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from oragent._base.direction import Direction
from oragent._base.errors import ProblemError
from oragent._base.protocol import Result, Status, format_result
from oragent.cli.app import app
from oragent.evaluation import Evaluation, Job
from oragent.evaluation.problem import load_problem as load_problem
from oragent.report.final_round import ELITES, FILE, WINNER, Final, FinalistRank, hold_final_round, read_final
from oragent.report.held_out import HeldOutScorer
from oragent.report.live.offline import write_report
from oragent.report.run import load_run
from oragent.report.significance import MeasuredScore
from oragent.report.solution_pictures import FOLDER, draw_pictures
from oragent.report.solution_pictures import read_pictures as read_pictures
from oragent.sandbox.messages import Command, CommandResult, EndReason
from oragent.search.config import build_config
from oragent.search.folder import RunFolder, make_folder
from tests.report.runs import data_of
from tests.search.test_engine import search

PNG, GIF = b"\x89PNG\r\n\x1a\n picture", b"GIF89a picture"


class Other:
    """An evaluator whose final round ranks the other way round, and how often it was asked for what."""

    def __init__(self, offers: str = "--final --beside", broken: str = "") -> None:
        self.sources: list[str] = []
        self.offers, self.broken = offers, broken

    def __call__(self, job: Job) -> Evaluation:
        if job.arguments == ("--help",):
            return Evaluation(Status.ERROR, output=self.offers)
        assert job.arguments == ("--final",)
        assert job.mode is None
        self.sources.append(job.source)
        if job.source == self.broken:
            return Evaluation(Status.TIMEOUT, message="too slow")
        names: dict[str, Any] = {}
        exec(job.source, names)
        score = float(names["guess"](3))
        return Evaluation(Status.OK, score, metrics={"ci95": (score - 1, score + 1)})


@pytest.fixture
def folder(begun) -> RunFolder:
    made = begun("budget.evaluations=25")
    (made.problem.evaluator).write_text(made.problem.evaluator.read_text() + "# --final --beside\n")
    search(made)
    return made


def test_the_best_elites_meet_again_and_who_wins_there_is_said(folder: RunFolder) -> None:
    run, elites = Other(), load_run(folder.path).all_elites
    found = hold_final_round(folder.path, HeldOutScorer(folder, run), elites)
    assert len(found.ranked) == len(run.sources) == min(ELITES, len(elites))
    scores = [one.measured.score for one in found.ranked]
    assert scores == sorted(scores)  # lower is better there
    assert found.val_winner.id == load_run(folder.path).best.id
    assert found.sentence.startswith(
        f"candidate {found.ranked[0].id} won the final round of {len(found.ranked)} elites"
    )
    winner = (folder.path / WINNER).read_text()
    assert winner.startswith("# toy: ")
    assert next(one.source for one in elites if one.id == found.ranked[0].id).rstrip() in winner
    shown = data_of(write_report(folder.path).read_text())["trust"]["final"]
    assert shown["sentence"] == found.sentence
    assert [row[0] for row in shown["ranked"]] == [rank.id for rank in found.ranked]


def test_nobody_is_evaluated_twice_for_it(folder: RunFolder) -> None:
    run, elites = Other(), load_run(folder.path).all_elites
    first = hold_final_round(folder.path, HeldOutScorer(folder, run), elites[:3])
    again = hold_final_round(folder.path, HeldOutScorer(folder, run), elites[:3])
    assert (len(run.sources), again) == (3, first)
    hold_final_round(folder.path, HeldOutScorer(folder, run), elites[:4])
    assert len(run.sources) == 4
    folder.problem.evaluator.write_text(folder.problem.evaluator.read_text() + "# another\n")
    hold_final_round(folder.path, HeldOutScorer(folder, run), elites[:4])
    assert len(run.sources) == 8


def test_who_fails_there_has_no_place_and_where_all_fail_it_is_one_line(folder: RunFolder) -> None:
    elites = load_run(folder.path).all_elites
    run = Other(broken=elites[0].source)
    found = hold_final_round(folder.path, HeldOutScorer(folder, run), elites[:3])
    assert found.failed == (elites[0].id,)
    assert found.sentence.endswith(f"without a score there: {elites[0].id}")
    (folder.path / FILE).unlink()
    with pytest.raises(ProblemError):
        hold_final_round(folder.path, HeldOutScorer(folder, run), elites[:1])


def test_where_an_evaluator_offers_none_there_is_none(folder: RunFolder) -> None:
    scorer = HeldOutScorer(folder, Other("--mode"))
    assert hold_final_round(folder.path, scorer, load_run(folder.path).all_elites) is None
    assert draw_pictures(folder.path, scorer) == ()
    assert not (folder.path / FILE).exists()


@pytest.mark.parametrize("text", ["", "[]", "elites: 3", "elites: {a: {id: 1, val: x, score: 1}}", "\x00"])
def test_a_broken_file_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_text(text)
    assert read_final(tmp_path, Direction.MINIMIZE) is None


def test_whether_the_winner_is_better_by_more_than_chance_is_said() -> None:
    def place(name: str, val: float, score: float, error: float) -> FinalistRank:
        return FinalistRank(name, val, MeasuredScore(score, error, (score - 2 * error, score + 2 * error)))

    near = Final(Direction.MAXIMIZE, (place("2.0", 9.0, 8.1, 0.5), place("1.0", 10.0, 8.0, 0.5)))
    assert near.sentence.endswith("the best on val, 1.0, came in at place 2 with 8, which is within chance (p = 0.44)")
    far = Final(Direction.MAXIMIZE, (place("2.0", 9.0, 12.0, 0.5), place("1.0", 10.0, 8.0, 0.5)))
    assert "which is no chance (p = " in far.sentence
    same = Final(Direction.MAXIMIZE, (place("1.0", 10.0, 8.0, 0.5),))
    assert same.sentence.endswith("it was the best on val, too")


class Drawing:
    """A sandbox in which an evaluator draws, and how often it was asked."""

    def __init__(self, **files: bytes) -> None:
        self.files, self.commands = (
            {name.replace("_png", ".png").replace("_gif", ".gif"): data for name, data in files.items()},
            [],
        )

    def __call__(self, command: Command, root: Path) -> CommandResult:
        self.commands.append(command)
        block = format_result(Result({"value": 1}, (1,), 1.0))
        return CommandResult(EndReason.EXITED, 0, stdout=block, files=self.files)


def test_pictures_are_drawn_once_and_stand_in_the_page(folder: RunFolder) -> None:
    draw, scorer = Drawing(worst_png=PNG, worst_drive_gif=GIF), HeldOutScorer(folder, Other())
    first = draw_pictures(folder.path, scorer, draw)
    assert [picture.name for picture in first] == ["worst.png", "worst_drive.gif"]
    (command,) = draw.commands
    assert command.argv[-1] == "--beside"
    assert command.bring == ("*.png", "*.gif")
    assert draw_pictures(folder.path, scorer, draw) == first == read_pictures(folder.path)
    assert len(draw.commands) == 1
    text = write_report(folder.path).read_text()
    (_, picture) = data_of(text)["trust"]["pictures"]
    assert picture == {"caption": "worst drive", "address": f"data:image/gif;base64,{base64.b64encode(GIF).decode()}"}
    (folder.path / "best.py").write_text("def guess(x):\n    return 1\n")
    assert read_pictures(folder.path) == ()
    draw_pictures(folder.path, scorer, draw)
    assert len(draw.commands) == 2


def test_what_is_no_picture_is_left_out(folder: RunFolder) -> None:
    script = b"<svg onload=alert(1)>"
    draw = Drawing(evil_png=script, fine_png=PNG, large_gif=GIF + bytes(17 << 20))
    assert [one.name for one in draw_pictures(folder.path, HeldOutScorer(folder, Other()), draw)] == ["fine.png"]
    assert sorted(path.name for path in (folder.path / FOLDER).iterdir()) == ["fine.png", "pictures.yaml"]
    (folder.path / FOLDER / "fine.png").write_bytes(script)
    assert read_pictures(folder.path) == ()
    told = yaml.safe_load((folder.path / FOLDER / "pictures.yaml").read_text())
    (folder.path / FOLDER / "pictures.yaml").write_text(yaml.safe_dump({**told, "pictures": ["../best.py"]}))
    assert read_pictures(folder.path) == ()


def test_a_program_that_fails_while_it_is_drawn_is_one_line(folder: RunFolder) -> None:
    def fail(command: Command, root: Path) -> CommandResult:
        return replace(Drawing()(command, root), code=1, stdout="")

    with pytest.raises(ProblemError) as caught:
        draw_pictures(folder.path, HeldOutScorer(folder, Other()), fail)
    assert "\n" not in str(caught.value)


DRAWS = """
if "--help" in sys.argv:
    print("--final --beside --mode")
    sys.exit(0)
prefix = next(word for word in sys.argv if word.startswith("--file_output_prefix=")).partition("=")[2]
if "--beside" in sys.argv:
    open(f"{prefix}worst.png", "wb").write(bytes([137, 80, 78, 71, 13, 10, 26, 10]) + b"a picture")
"""


@pytest.mark.slow
def test_the_command_line_asks_a_real_evaluator_for_both(toy: Path, tmp_path: Path) -> None:
    evaluator = (toy / "eval.py").read_text().replace('sys.path.insert(0, ".")\n', f'sys.path.insert(0, ".")\n{DRAWS}')
    (toy / "eval.py").write_text(evaluator)
    folder = make_folder(
        tmp_path, tmp_path / "outputs", load_problem(toy), build_config({}, ["budget.evaluations=4"], "test")
    )
    search(folder)
    done = CliRunner().invoke(app, ["report", str(folder.path), "--final", "--pictures", "--no-check"])
    assert done.exit_code == 0, done.output
    assert "won the final round of" in done.output
    text = (folder.path / "report.html").read_text()
    assert "data:image/png;base64," in text
    assert "won the final round of" in data_of(text)["trust"]["final"]["sentence"]
    assert (folder.path / WINNER).is_file()


@pytest.mark.slow
def test_the_command_line_says_where_an_evaluator_has_neither(begun) -> None:
    folder = begun("budget.evaluations=3")
    search(folder)
    done = CliRunner().invoke(app, ["report", str(folder.path), "--final", "--pictures", "--no-check"])
    assert done.exit_code == 0, done.output
    said = " ".join(done.output.split())
    assert "this evaluator has no --final: there are no instances for a final round" in said
    assert "this evaluator has no --draw_solutions: there is nothing that draws" in said
