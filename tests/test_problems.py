"""Every problem keeps the contract; a new one is covered without a new test."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from oragent._base.protocol import Status
from oragent._base.racing import BY_INSTANCE, mean_score, read_instance_values
from oragent.authoring import ContractFinding, Level, check_problem
from oragent.authoring.bench import ScoringBench
from oragent.evaluation import EvaluationRunner
from oragent.evaluation.problem import load_problem
from oragent.evaluation.required_packages import describe_missing_package
from oragent.search.genetics.variation import child_of_seed

ROOT = Path(__file__).parent.parent
PROBLEMS = sorted(path.parent for path in (ROOT / "problems").glob("*/problem.yaml"))

# Problems of the default tests: one that is revealed, one that is asked step by step, one with ants. The slow tests take all.
QUICK = {"bpp_online", "tsp_constructive", "mkp_aco"}

# Where the contract asks the same of a shorter evaluation, the default tests take one: what their evaluators hold there,
# and what the copy has instead. The slow tests take all evaluators as they are.
SHORTER = {
    "tsp_gls": ("MOVES, ITERATIONS = 30, 1200", "MOVES, ITERATIONS = 30, 60"),
    "tsp_aco": ("ANTS, ITERATIONS = 30, 80", "ANTS, ITERATIONS = 30, 5"),
    "cvrp_aco": ("ANTS, ITERATIONS = 30, 50", "ANTS, ITERATIONS = 30, 5"),
    "op_aco": ("ANTS, ITERATIONS = 20, 50", "ANTS, ITERATIONS = 20, 5"),
    "mkp_aco": ("ANTS, ITERATIONS = 30, 50", "ANTS, ITERATIONS = 30, 5"),
    "bpp_offline_aco": ("ANTS, ITERATIONS = 20, 15", "ANTS, ITERATIONS = 5, 2"),
    "dpp_ga": ('{"train": 5, "val": 10}', '{"train": 2, "val": 2}'),
    "bpp_online": ("arguments.fresh_seed) for size", "arguments.fresh_seed)[:1] for size"),
    "bpp_online_informed": ("arguments.fresh_seed) for size", "arguments.fresh_seed)[:1] for size"),
    "cvrp_solver": ("UNITS = 2e7", "UNITS = 2e5"),
    "milp_branching": ('{"train": 2, "val": 6,', '{"train": 1, "val": 1,'),
    "tsp_pomo": ('{"train": 10, "val": 10,', '{"train": 2, "val": 2,'),
}

# Warnings that a problem may have: its name and the finding's title, each with the reason.
PREFERENCES = "any preferences are right answers, and on few instances others are better than the seed's by chance"
ALLOWED = {
    (problem, f"candidate that {what}"): PREFERENCES
    for problem in ("milp_branching", "cvrp_solver")
    for what in ("returns an item twice", "swaps two items")
}


def cases(slow: Callable[[Path], bool]) -> list[object]:
    return [pytest.param(folder, id=folder.name, marks=pytest.mark.slow if slow(folder) else ()) for folder in PROBLEMS]


@pytest.fixture(autouse=True)
def _installed(folder: Path) -> None:
    for requirement in load_problem(folder).about.requires:
        if missing := describe_missing_package(requirement):
            pytest.skip(missing)


def complaints(folder: Path, quick: bool) -> list[ContractFinding]:
    return [
        finding
        for finding in check_problem(folder, ROOT, child_of_seed, quick=quick)
        if finding.level is Level.FAILURE
        or (finding.level is Level.WARNING and (folder.name, finding.title) not in ALLOWED)
    ]


def shorter(folder: Path, elsewhere: Path) -> Path:
    """The problem, or a copy whose evaluations are shorter."""
    if folder.name not in SHORTER:
        return folder
    copy = elsewhere / folder.name
    shutil.copytree(folder, copy)
    text, (long, short) = (copy / "eval.py").read_text(), SHORTER[folder.name]
    assert text.count(long) == 1
    (copy / "eval.py").write_text(text.replace(long, short))
    return copy


@pytest.mark.slow
@pytest.mark.parametrize("folder", cases(lambda folder: folder.name not in QUICK))
def test_a_problem_keeps_the_contract(folder: Path, tmp_path: Path) -> None:
    assert complaints(shorter(folder, tmp_path), quick=True) == []


@pytest.mark.slow
@pytest.mark.parametrize("folder", cases(lambda folder: folder.name not in ("bpp_online", "tsp_constructive")))
def test_a_problem_reports_each_instance_of_val(folder: Path, tmp_path: Path) -> None:
    problem = load_problem(shorter(folder, tmp_path))
    ended = ScoringBench(problem, ROOT, problem.about.timeout_s, child_of_seed).run(mode="val")
    values = read_instance_values(ended.metrics)
    assert values is not None, ended.message
    assert set(values) == set(map(str, problem.about.sizes["val"]))
    assert mean_score(values) == pytest.approx(ended.score, rel=1e-5)
    assert BY_INSTANCE not in ended.output


@pytest.mark.parametrize("folder", cases(lambda folder: True))
def test_a_problem_keeps_the_contract_in_a_full_check(folder: Path) -> None:
    assert complaints(folder, quick=False) == []


# What a heuristic may do with its answer, or with its arguments; the seed is called ``_wrapped``.
HOSTILE = {
    "returns zeros": "return 0 * _wrapped(*args, **kwargs)",
    "returns negative numbers": "return -1 - abs(_wrapped(*args, **kwargs))",
    "returns huge numbers": "return 10**12 * (1 + abs(_wrapped(*args, **kwargs)))",
    "writes into its arguments": """answer = _copy.deepcopy(_wrapped(*args, **kwargs))
    for one in (*args, *kwargs.values()):
        if hasattr(one, "fill"):
            one.fill(1)
        elif hasattr(one, "clear"):
            one.clear()
    return answer""",
}
# A failure that names what came, what was expected and the instance, or a score; where arguments alone suffer, the
# seed's own: they are copies.
WRAPPED = "{seed}\n\nimport copy as _copy\n_wrapped = {name}\n\n\ndef {name}(*args, **kwargs):\n    {body}\n"


@pytest.mark.slow
@pytest.mark.parametrize("folder", cases(lambda folder: folder.name not in QUICK))
def test_a_hostile_answer_gets_a_score_or_a_status_that_says_where_and_why(folder: Path, tmp_path: Path) -> None:
    problem = load_problem(shorter(folder, tmp_path))
    with EvaluationRunner() as runner:
        bench = ScoringBench(problem, ROOT, problem.about.timeout_s, child_of_seed, runner)
        for what, body in HOSTILE.items():
            source = WRAPPED.format(seed=problem.seed, name=problem.about.function, body=body)
            ended = bench.run(source, mode="train")
            if what == "writes into its arguments":
                assert ended.score == bench.run(mode="train").score, ended.message
            elif ended.score is None:
                assert ended.status in (Status.INVALID, Status.ERROR), f"{what}: {ended.status}: {ended.message}"
                assert "size " in ended.message, what
                assert ended.status is Status.ERROR or "return" in ended.message, what
