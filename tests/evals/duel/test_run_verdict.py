"""The verdict at the end of a run: which programs are compared, on how many instances, and what is stored."""

import json
from pathlib import Path

import pytest
import yaml

from oragent._base.errors import ProblemError
from oragent.api.run_documents import describe_run
from oragent.cli.search import _judge_run
from oragent.evals.duel.run_verdict import find_previous_best, judge_run
from oragent.evaluation.problem import Problem
from oragent.report import terminal
from oragent.report.run import load_run
from oragent.report.run_verdicts import RunVerdict, read_verdicts, write_verdicts
from oragent.search.folder import reopen
from oragent.search.store import Store
from tests.evals.duel.conftest import DicePool
from tests.report.runs import Made, write


def made(source: str, score: float | None, wall_s: float = 2.0) -> Made:
    return Made(source, score, (0,), wall_s=wall_s)


SEED, EARLIER, BEST = made("3 0.2", 30.0), made("1.001 0.2", 11.0), made("1 0.2", 10.0)


@pytest.fixture
def run(begun) -> Path:
    return write_run(begun, [SEED, made("2 0.2", 20.0), made("5 0.2", 25.0), EARLIER, made("9", None), BEST])


def write_run(begun, programs: list[Made], *settings: str, practice: bool = True, most: int = 200) -> Path:
    path = begun(*settings).path
    others = [made(f"7 {number}", 40.0) for number in range(most)]
    write(path, [[program] for program in [*programs, *others]])
    (path / "best.py").write_text(min((one for one in programs if one.score), key=lambda one: one.score).source)
    with Store(path / "run.db") as store:
        store.note("offers", json.dumps(["--fresh_seed", "practice"] if practice else []))
    return path


def test_the_best_is_compared_with_the_leader_before_it_and_with_the_seed(run: Path, pool: DicePool) -> None:
    assert find_previous_best(load_run(run)).source == EARLIER.source
    step, whole = judge_run(run)
    assert (step.rival, whole.rival) == ("3.0", "seed")
    assert not step.is_above_noise
    assert "WITHIN" in step.sentence
    assert whole.is_above_noise
    assert whole.gain > 0
    # 11 against 13, relative to their mean.
    assert whole.low <= 2 / 12 <= whole.high
    assert set(whole.by_size) == {"20", "50"}
    assert {job.mode for job in pool.jobs} == {"practice"}
    assert {job.source for job in pool.jobs} == {SEED.source, EARLIER.source, BEST.source}


def test_verdicts_are_stored_for_the_present_best_and_shown(run: Path, pool: DicePool) -> None:
    verdicts = judge_run(run)
    data = load_run(run)
    assert data.verdicts == tuple(verdicts)
    assert set(terminal.describe_trust(data)) >= {verdict.sentence for verdict in verdicts}
    assert [entry["above_noise"] for entry in describe_run(data)["verdicts"]] == [False, True]
    (run / "best.py").write_text("another program")
    assert read_verdicts(run) == ()


def test_a_verdict_can_be_repeated(run: Path, pool: DicePool) -> None:
    assert judge_run(run) == judge_run(run)


def test_references_of_the_problem_are_rivals_too(run: Path, pool: DicePool, monkeypatch: pytest.MonkeyPatch) -> None:
    file = reopen(run, only_read=True).problem.folder / "problem.yaml"
    file.write_text(f"{file.read_text()}\nreferences: {{known: known.py, other: known.py}}\n")
    monkeypatch.setattr(Problem, "read_reference", lambda self, name: ({"known": "2 0.2", "other": "0 0.2"}[name], ()))
    verdicts = {verdict.rival: verdict for verdict in judge_run(run)}
    assert list(verdicts) == ["3.0", "seed", "reference/known", "reference/other"]
    assert verdicts["reference/known"].gain > 0 > verdicts["reference/other"].gain
    assert all(verdicts[f"reference/{name}"].is_above_noise for name in ("known", "other"))
    assert read_verdicts(run) == tuple(verdicts.values())


def test_a_reference_without_a_score_costs_no_verdict_on_the_others(
    run: Path, pool: DicePool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_reference(problem: Problem, name: str) -> tuple[str, tuple[str, ...]]:
        if name == "lost":
            raise ProblemError("no such file")
        return "2 0.2", ()

    file = reopen(run, only_read=True).problem.folder / "problem.yaml"
    file.write_text(f"{file.read_text()}\nreferences: {{lost: lost.py, known: known.py}}\n")
    monkeypatch.setattr(Problem, "read_reference", read_reference)
    with pytest.raises(ProblemError):
        judge_run(run)
    assert [verdict.rival for verdict in read_verdicts(run)] == ["3.0", "seed", "reference/known"]
    *verdicts, problem = _judge_run(run)
    assert verdicts == [verdict.sentence for verdict in read_verdicts(run)]
    assert "no such file" in problem


def test_references_that_take_too_long_cost_no_verdict_on_the_seed(begun, pool: DicePool) -> None:
    run = write_run(begun, [SEED, EARLIER, BEST], most=37)
    file = reopen(run, only_read=True).problem.folder / "problem.yaml"
    file.write_text(f"{file.read_text()}\nreferences: {{known: known.py, other: known.py}}\n")
    assert [verdict.rival for verdict in judge_run(run)] == ["1.0", "seed"]


def test_a_tenth_of_the_time_of_the_run_is_not_exceeded(begun, pool: DicePool) -> None:
    """Each evaluation takes 1 CPU second here: 40 pay for one round of two duels."""
    short = write_run(begun, [SEED, EARLIER, BEST], most=36)
    assert judge_run(short) == []
    assert pool.jobs == []
    enough = write_run(begun, [SEED, EARLIER, BEST], most=37)
    assert [verdict.instances for verdict in judge_run(enough)] == [12, 12]
    assert len(pool.jobs) == 4


def test_there_is_no_verdict_without_practice_instances_or_a_new_best(begun, pool: DicePool) -> None:
    assert judge_run(write_run(begun, [SEED, BEST], practice=False)) == []
    assert judge_run(write_run(begun, [SEED])) == []
    (verdict,) = judge_run(write_run(begun, [SEED, BEST]))
    assert verdict.rival == "seed"
    assert pool.jobs


@pytest.mark.parametrize(
    ("gain", "p", "word"),
    [(0.01, 0.01, "above"), (-0.01, 0.01, "WORSE"), (0.01, 0.2, "WITHIN"), (-0.01, 0.2, "WITHIN")],
)
def test_the_words_follow_from_gain_and_p(gain: float, p: float, word: str) -> None:
    assert word in RunVerdict("seed", gain, gain - 0.005, gain + 0.005, p, 0.05, 12).sentence
    assert "WITHIN" in RunVerdict("seed", gain, -0.1, 0.1, p, 0.05, 12).sentence


@pytest.mark.parametrize("damage", [{"gain": "x"}, {"more": 1}, {"rival": "a" * 99}, {"p": float("nan")}])
def test_damaged_verdicts_are_left_out(run: Path, damage: dict[str, object]) -> None:
    write_verdicts(run, [RunVerdict("seed", 0.1, None, None, 0.5, 0.05, 12)])
    assert len(read_verdicts(run)) == 1
    tree = yaml.safe_load((run / "verdict.yaml").read_text())
    tree["verdicts"][0] |= damage
    (run / "verdict.yaml").write_text(yaml.safe_dump(tree))
    assert read_verdicts(run) == ()
