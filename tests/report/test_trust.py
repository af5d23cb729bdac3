"""What a report says of a best score: that it holds on sets that nobody could know, or that it does not."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

from oragent._base.direction import Direction
from oragent._base.errors import ProblemError, StoreError
from oragent._base.protocol import Status
from oragent.cli.app import app
from oragent.evaluation import Evaluation, Job
from oragent.evaluation.problem import load_problem as load_problem
from oragent.report import terminal
from oragent.report.fresh import collect_sets, read_fresh, score_fresh
from oragent.report.held_out import HeldOutScorer, check_best, score_held_out
from oragent.report.live.offline import write_report
from oragent.report.run import load_run
from oragent.report.significance import LEVEL, MeasuredScore, gain_probability, score_probability
from oragent.search.config import build_config
from oragent.search.folder import RunFolder, make_folder, reopen
from oragent.search.launch import LaunchOptions, search
from oragent.search.round_context import RoundContext
from oragent.search.strategy import Strategy

ROOT = Path(__file__).parents[2]
SIZE = 20
KNOWING = """import numpy as np

KNOWN = {{}}
rng = np.random.RandomState(1234)  # as anybody can read in our source
for mode, size, count in {stream}:
    for points in rng.rand(count, size, 2):
        if mode in ("val", "test") and size == {size}:
            KNOWN[round(float(np.hypot(*(points[0] - points[1]))), 9)] = points


def shortened(points):
    n = len(points)
    far = np.hypot(*(points[:, None] - points[None]).transpose(2, 0, 1))
    tour, left = [0], set(range(1, n))
    while left:
        tour.append(min(left, key=lambda city: far[tour[-1], city]))
        left.remove(tour[-1])
    better = True
    while better:
        better = False
        for i in range(n - 1):
            for j in range(i + 2, n - (i == 0)):
                a, b, c, d = tour[i], tour[i + 1], tour[j], tour[(j + 1) % n]
                if far[a, c] + far[b, d] < far[a, b] + far[c, d] - 1e-9:
                    tour[i + 1 : j + 1] = tour[i + 1 : j + 1][::-1]
                    better = True
    return tour


TOURS = {{}}


def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    key = round(float(distance_matrix[0, 1]), 9)
    if key in KNOWN:
        tour = TOURS[key] = TOURS.get(key) or shortened(KNOWN[key])
        return tour[tour.index(current_node) + 1]
    nodes = np.array(sorted(unvisited_nodes))
    return int(nodes[np.argmin(distance_matrix[current_node, nodes])])
"""
HONEST = """import numpy as np


def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    nodes = np.array(sorted(unvisited_nodes))
    home = distance_matrix[destination_node, nodes]
    return int(nodes[np.argmin(distance_matrix[current_node, nodes] - 0.3 * home)])
"""


def searched(outputs: Path, source: str) -> RunFolder:
    """A run at one size of a problem that ships, which finds one program."""

    async def write_it(run: RoundContext) -> None:
        await run.evaluate(source, [], "written")

    settings = ["budget.evaluations=2", f"problem_size={SIZE}", "workers=1", "strategy.patience=2"]
    problem, config = load_problem(ROOT / "problems" / "tsp_constructive"), build_config({}, settings, "test")
    strategy = Strategy(name="written", round=write_it, asks_model=False)
    opened: list[RunFolder] = []

    def opening() -> RunFolder:
        opened.append(make_folder(ROOT, outputs, problem, config, strategy))
        return opened[0]

    asyncio.run(
        search(config, ROOT, problem, opening, lambda progress: None, overrides=LaunchOptions(strategy=strategy))
    )
    return opened[0]


@pytest.mark.slow
def test_a_program_that_looks_val_and_test_up_is_found_out_in_words(tmp_path: Path) -> None:
    from oragent.domains import tsp

    folder = searched(tmp_path, KNOWING.format(stream=tsp.CONSTRUCTIVE_STREAM, size=SIZE))
    done = CliRunner().invoke(app, ["report", str(folder.path), "--test"])
    assert done.exit_code == 0, done.output
    found = load_run(folder.path)
    assert found.sets is not None
    scores = {name: (seed.score, best.score) for name, (seed, best) in found.sets.scores.items()}
    assert list(scores) == ["val", "test", "fresh"]
    for name in ("val", "test"):
        assert scores[name][1] < 0.93 * scores[name][0]
    assert scores["fresh"][0] == scores["fresh"][1]  # at the level of the seed
    words = " ".join(done.output.split())
    assert words.count("BEYOND CHANCE") == 2
    assert "it knows the test set, so its gain there is not its real gain" in words
    assert "it is fitted to val, or knows it" in words
    assert "--fresh_seed=" in words
    page = (folder.path / "report.html").read_text()
    # The page also has them in its data.
    assert page.count("<li>BEYOND CHANCE") == 2
    first = read_fresh(folder.path)
    assert first is not None
    again = score_fresh(folder.path, HeldOutScorer(reopen(folder.path)))
    assert again == first  # the kept one: nothing is drawn twice for one program
    one = ["eval", "tsp_constructive", "--root", str(ROOT), "--mode", "fresh", "--problem_size", str(SIZE)]
    repeated = CliRunner().invoke(app, [*one, "--fresh_seed", str(first["fresh_seed"])])
    assert repeated.exit_code == 0, repeated.output
    assert repr(first["seed"]["score"]) in repeated.output


@pytest.mark.slow
def test_a_program_that_knows_nothing_is_as_good_on_a_fresh_set(tmp_path: Path) -> None:
    folder = searched(tmp_path, HONEST)
    scorer = HeldOutScorer(reopen(folder.path))
    score_held_out(folder.path, scorer)
    drawn = score_fresh(folder.path, scorer)
    assert drawn is not None
    assert drawn["best"]["fresh_seed"] == drawn["seed"]["fresh_seed"] == drawn["fresh_seed"]
    assert not any(name.startswith("gap") for name in drawn["best"])
    told = load_run(folder.path).sets
    assert told is not None
    # val with test, test with fresh, val with fresh
    assert sum("within chance" in sentence for sentence in told.sentences) == 3
    assert sum("instances, worse on" in sentence for sentence in told.sentences) == 2


@pytest.mark.slow
def test_figures_of_another_best_program_are_not_shown_and_a_new_set_is_drawn(tmp_path: Path) -> None:
    folder = searched(tmp_path, HONEST)
    scorer = HeldOutScorer(reopen(folder.path))
    score_held_out(folder.path, scorer)
    first = score_fresh(folder.path, scorer)
    best = folder.path / "best.py"
    best.write_text(best.read_text() + "# another\n")
    assert load_run(folder.path).sets is None
    second = score_fresh(folder.path, scorer)
    assert first is not None
    assert second is not None
    assert first["fresh_seed"] != second["fresh_seed"]


class Recorded:
    """Evaluations of a run's programs in place of a sandbox."""

    def __init__(self, offers: str, ended: Evaluation) -> None:
        self.jobs: list[Job] = []
        self._help, self._ended = Evaluation(Status.ERROR, output=offers), ended

    def end(self, ended: Evaluation) -> None:
        """Let further evaluations end otherwise."""
        self._ended = ended

    def __call__(self, job: Job) -> Evaluation:
        self.jobs.append(job)
        return self._help if job.arguments == ("--help",) else self._ended


def test_the_best_goes_first_so_that_it_never_gets_the_seed(begun) -> None:
    folder = begun()
    (folder.path / "best.py").write_text("best")
    ended = Evaluation(Status.OK, 3.0, None, {"fresh_seed": 17, "ci95": (2.0, 4.0)})
    run = Recorded("  --fresh_seed N\n  --heuristic_s X", ended)
    scorer = HeldOutScorer(replace(folder, config=build_config({}, ["limits.heuristic_s=2"], "test")), run)
    scorer.__dict__["seed"] = "seed"
    found = score_fresh(folder.path, scorer)
    assert found is not None
    assert found["fresh_seed"] == 17
    _, best, seed = run.jobs
    assert (best.source, best.mode, best.arguments) == ("best", "fresh", ("--heuristic_s=20",))
    assert (seed.source, seed.mode, seed.arguments) == ("seed", "fresh", ("--heuristic_s=20", "--fresh_seed=17"))


def test_a_program_that_fails_on_its_fresh_set_gets_no_other_set(begun) -> None:
    folder = begun()
    (folder.path / "best.py").write_text("best")
    run = Recorded("  --fresh_seed N", Evaluation(Status.CRASHED, message="ended its own process"))
    scorer = HeldOutScorer(folder, run)
    for _ in range(2):
        with pytest.raises(ProblemError):
            score_fresh(folder.path, scorer)
    assert [job.mode for job in run.jobs] == [None, "fresh"]
    assert read_fresh(folder.path) is None
    (folder.path / "best.py").write_text("another")
    run.end(Evaluation(Status.OK, 3.0, None, {"fresh_seed": 17}))
    scorer.__dict__["seed"] = "seed"
    found = score_fresh(folder.path, scorer)
    assert found is not None
    # The set counts that was drawn first.
    jobs = len(run.jobs)
    run.end(Evaluation(Status.OK, 4.0, None, {"fresh_seed": 18}))
    again = score_fresh(folder.path, scorer)
    assert again is not None
    assert (again["fresh_seed"], again["best"], len(run.jobs)) == (17, found["best"], jobs)


def test_an_evaluator_without_fresh_sets_is_told_of(begun) -> None:
    folder = begun()
    assert score_fresh(folder.path, HeldOutScorer(folder, Recorded("--mode", Evaluation(Status.OK, 1.0)))) is None


@pytest.mark.parametrize("text", ["", "[1]", "{fresh_seed: x, seed: {score: 1}, best: {score: 1}, program: a}", "\x00"])
def test_a_broken_file_is_one_line(text: str, begun) -> None:
    folder = begun()
    (folder.path / "fresh.yaml").write_text(text)
    with pytest.raises(StoreError) as told:
        read_fresh(folder.path)
    assert "\n" not in str(told.value)


# The statistics, against simulation and by hand.


def figures(values: np.ndarray) -> dict[str, Any]:
    """What an evaluator prints of these instances."""
    from oragent.harness import figures as of_evaluator

    metrics, score = of_evaluator("value", {1: values.tolist()})
    return {**metrics, "score": score}


def test_the_test_of_two_scores_is_the_one_of_the_textbook() -> None:
    known, unknown = MeasuredScore(12.0, 0.3, (11.4, 12.6)), MeasuredScore(10.0, 0.4, (9.2, 10.8))
    chance = score_probability(Direction.MAXIMIZE, known, unknown)
    assert chance == pytest.approx(3.167e-5, rel=1e-3)  # 2 / 0.5 = 4 standard errors
    assert score_probability(Direction.MINIMIZE, known, unknown) == pytest.approx(1 - 3.167e-5)
    assert score_probability(Direction.MAXIMIZE, replace(known, error=None), unknown) is None


@pytest.mark.slow
def test_chance_alone_is_hardly_ever_blamed_and_knowledge_always_is() -> None:
    rng = np.random.default_rng(0)
    alarms = caught = 0
    for _ in range(400):
        known, unknown = (MeasuredScore.from_figures(figures(rng.gamma(9.0, 1.0, 10))) for _ in range(2))
        chance = score_probability(Direction.MAXIMIZE, known, unknown)
        assert chance is not None
        alarms += chance < LEVEL
        better = MeasuredScore.from_figures(figures(rng.gamma(9.0, 1.0, 10) + 12.0))
        chance = score_probability(Direction.MAXIMIZE, better, unknown)
        assert chance is not None
        caught += chance < LEVEL
    assert alarms <= 6
    assert caught == 400


def test_gains_are_held_against_those_on_the_seed_so_that_sizes_may_differ() -> None:
    def pair(seed: float, best: float, error: float) -> tuple[MeasuredScore, MeasuredScore]:
        return MeasuredScore(seed, error, (0.0, 1.0)), MeasuredScore(best, error, (0.0, 1.0))

    same = gain_probability(Direction.MINIMIZE, pair(10.0, 9.0, 0.05), pair(100.0, 90.0, 0.5))
    assert same == pytest.approx(0.5)
    lost = gain_probability(Direction.MINIMIZE, pair(10.0, 9.0, 0.05), pair(100.0, 100.0, 0.5))
    assert lost is not None
    assert lost < LEVEL
    assert gain_probability(Direction.MINIMIZE, pair(0.0, 9.0, 0.05), pair(100.0, 100.0, 0.5)) is None


@pytest.mark.parametrize("interval", [None, "x", (1, 2, 3), [float("nan"), 1], [2, 1], ["a", "b"]])
def test_an_interval_that_is_none_is_no_interval(interval: object) -> None:
    measured = MeasuredScore.from_figures({"score": 3.0, "ci95": interval})
    assert (measured.score, measured.error, str(measured)) == (3.0, None, "3")
    pair = {"score": 3.0}, {"score": 3.0}
    kept = {"seed": {"score": 3.0}, "best": {"score": 2.0}, "fresh_seed": 1}
    assert "without intervals" in collect_sets(Direction.MINIMIZE, pair, None, kept).sentences[0]


# The check of the best program.


@pytest.mark.parametrize(
    ("ended", "passed", "words"),
    [
        (
            Evaluation(Status.OK, 3.0, metrics={"checked": 20}, cpu_s=12.0),
            True,
            "20 calls of the best program",
        ),
        (
            Evaluation(Status.REJECTED, message="call 4711\x1b[2J differs"),
            False,
            r"REJECTED: the best program is not a function of its arguments: call 4711\u001b[2J differs",
        ),
        (
            Evaluation(Status.TIMEOUT, message="no result"),
            None,
            "was not checked: the check ended as timeout: no result",
        ),
    ],
)
def test_calls_of_the_best_are_repeated_and_the_result_is_said(
    ended: Evaluation, passed: bool | None, words: str, begun, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = begun()
    (folder.path / "best.py").write_text("def guess(x): return 1\n")
    run = Recorded("--check", ended)
    monkeypatch.setattr("oragent.report.held_out.HeldOutScorer", lambda folder: HeldOutScorer(folder, run))
    found = check_best(folder.path)
    assert found.passed is passed
    assert words in found.sentence
    assert "--check" in run.jobs[-1].arguments
    jobs = len(run.jobs)
    assert check_best(folder.path) == found
    assert (len(run.jobs) == jobs) == (passed is not None)  # what has an answer is not asked again
    (folder.path / "best.py").write_text("def guess(x): return 2\n")
    check_best(folder.path)
    assert len(run.jobs) > jobs


@pytest.mark.slow
def test_a_report_of_a_run_that_cannot_be_checked_is_written_and_says_so(toy: Path, tmp_path: Path) -> None:
    folder = make_folder(
        tmp_path, tmp_path / "outputs", load_problem(toy), build_config({}, ["budget.evaluations=3"], "test")
    )
    problem = folder.problem
    asyncio.run(search(folder.config, tmp_path, problem, lambda: folder, lambda progress: None))
    done = CliRunner().invoke(app, ["report", str(folder.path)])
    assert done.exit_code == 0
    assert "was not checked: this evaluator has no --check" in " ".join(done.output.split())
    (toy / "eval.py").write_text("print('another')")
    (folder.path / "check.yaml").unlink()
    assert "changed since this run began" in check_best(folder.path).sentence
    done = CliRunner().invoke(app, ["report", str(folder.path)])
    assert "the best program was not checked: eval.py" in " ".join(done.output.split())
    assert write_report(folder.path).is_file()
    assert terminal.describe_trust(load_run(folder.path)) == ("this evaluator has no --check: " + yaml.safe_load(LACK),)


LACK = "programs that would lead are not checked for memory and chance"
