"""``make results``: figures of shipped programs that differ from their evidence are noticed."""

import subprocess
import sys
from pathlib import Path

import pytest

from oragent._base.errors import ProblemError
from oragent.evaluation import EvaluationRunner
from oragent.evaluation.discovered import SetEvidence, list_discovered
from oragent.evaluation.problem import find_problem

ROOT = Path(__file__).parents[1]
TOOLS = ROOT / "docs" / "tools"
sys.path.insert(0, str(TOOLS))
try:
    import check_evidence
finally:
    sys.path.remove(str(TOOLS))

RECORDED = SetEvidence(seed=8.0, best=4.0, sizes={"20": 3.0, "50": 5.0})


@pytest.mark.parametrize(
    ("scored", "noise", "count"),
    [
        (RECORDED, 0.0, 0),
        (SetEvidence(8.000001, 4.0, sizes={"20": 3.0, "50": 5.0}), 0.0, 0),
        (SetEvidence(8.00001, 4.0, sizes={"20": 3.0, "50": 5.0}), 0.0, 1),
        (SetEvidence(8.0, 4.004, sizes={"20": 3.008, "50": 5.0}), 0.0, 2),
        (SetEvidence(8.0, 4.004, sizes={"20": 3.008, "50": 5.0}), 0.002, 1),
        (SetEvidence(8.0, 4.004, sizes={"20": 3.008, "50": 5.0}), 0.003, 0),
        (SetEvidence(8.0, 4.0, sizes={"20": 3.0}), 1.0, 1),
        (SetEvidence(8.0, 4.0, sizes={"20": 3.0, "50": 5.0, "100": 6.0}), 1.0, 1),
    ],
)
def test_figures_beyond_rounding_and_noise_differ(scored: SetEvidence, noise: float, count: int) -> None:
    assert len(list(check_evidence.find_differences(RECORDED, scored, noise))) == count


def test_a_set_with_some_sizes_is_scored_at_these_alone() -> None:
    problem = find_problem("tsp_pomo", ROOT)
    declared = {str(size): 1.0 for size in problem.about.sizes["test"]}
    few = dict(list(declared.items())[:2])
    assert check_evidence.recorded_sizes(problem, SetEvidence(1.0, 1.0, sizes=few), "fresh") == [200, 500]
    assert check_evidence.recorded_sizes(problem, SetEvidence(1.0, 1.0, sizes=declared), "fresh") == []
    assert check_evidence.recorded_sizes(problem, SetEvidence(1.0, 1.0, sizes=few), "val") == [200, 500]


def test_a_set_that_cannot_be_scored_fails_and_the_others_are_scored(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    problem = find_problem("mkp_aco", ROOT)
    ((title, evidence),) = list_discovered(problem).items()
    scored = []

    def score_set(score: object, source: str, recorded: SetEvidence, mode: str) -> SetEvidence:
        scored.append(mode)
        if mode == "val":
            raise ProblemError("took too long")
        return recorded

    monkeypatch.setattr(check_evidence, "score_set", score_set)
    with EvaluationRunner(1) as run:
        score = check_evidence.Scorer(problem, run)
        assert not check_evidence.check_program(score, title, evidence, ("val", "test"), 0.0)
        assert check_evidence.check_program(score, title, evidence, ("test",), 0.0)
    assert scored == ["val", "test", "test"]
    assert "took too long" in capsys.readouterr().out


def test_a_problem_that_lacks_packages_fails_and_the_others_are_scored(monkeypatch: pytest.MonkeyPatch) -> None:
    scored = []

    def score_program(score: check_evidence.Scorer, *_: object) -> bool:
        scored.append(score.problem.name)
        return True

    monkeypatch.setattr(check_evidence, "check_program", score_program)
    monkeypatch.setattr(
        check_evidence, "list_unmet", lambda problem: ["needs torch"] if problem.name == "tsp_pomo" else []
    )
    monkeypatch.setattr(sys, "argv", ["check_evidence.py", "tsp_pomo", "mkp_aco"])
    assert check_evidence.main() == 1
    assert scored == ["mkp_aco"]
    monkeypatch.setattr(sys, "argv", ["check_evidence.py", "mkp_aco"])
    assert check_evidence.main() == 0


@pytest.mark.slow
def test_a_shipped_program_has_its_recorded_scores() -> None:
    assert "duals_branch_and_bound" in list_discovered(find_problem("mkp_aco", ROOT))
    ended = subprocess.run(
        [sys.executable, TOOLS / "check_evidence.py", "mkp_aco", "--modes=val", "--noise=0.002"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr


@pytest.mark.parametrize(("seed", "borrowed", "equal"), [(3.0, 5.0, True), (3.1, 5.0, False), (3.0, None, False)])
def test_rows_of_a_problem_without_a_program_are_scored_again(
    seed: float, borrowed: float | None, equal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = find_problem("driving_long", ROOT)
    scores = {problem.seed: seed, "program": borrowed}
    recorded = {"baselines": {"dense": {"seed": 3.0, "borrowed": 5.0}}}
    monkeypatch.setattr(check_evidence, "read_references", lambda folder: recorded)
    monkeypatch.setattr(check_evidence, "read_borrowed", lambda problem: "program")
    monkeypatch.setattr(check_evidence, "try_score", lambda score, source, mode: scores[source])
    with EvaluationRunner(1) as run:
        assert check_evidence.check_rows(check_evidence.Scorer(problem, run), 0.0) == equal
