"""INSTRUMENT: an agent watches its program at work by the evaluator's hooks, and goes by what it saw."""

import re
from pathlib import Path

import pytest

from oragent.evaluation import Evaluation, EvaluationRunner, Job
from oragent.evaluation.capabilities import OBSERVER, find_options
from oragent.evaluation.problem import load_problem as load_problem
from oragent.search.candidate import PROBE
from oragent.search.config import build_config
from oragent.search.folder import make_folder
from oragent.search.store import Store
from tests.extras import need
from tests.search.players import QUIET, Players, guess, notes, search
from tests.search.test_engine import scored

ROOT = Path(__file__).parents[2]
SMALL = (*QUIET, "model.name=m", "or_agent.depth=1", "or_agent.reflection_calls=same")
WATCH = "def observe(hook, data):\n    print(hook, data)\n"
ASKED = f"THOUGHT: see how it goes\nACTION: INSTRUMENT\n```python\n{WATCH}```"
HOOKS = "hooks: {step: 'after each step: x'}\nsizes: {train: [3, 9], val: [5]}\n"


@pytest.fixture
def hooked(toy: Path) -> Path:
    (toy / "problem.yaml").write_text((toy / "problem.yaml").read_text() + HOOKS)
    return toy


class Watched:
    """The toy, as an evaluator with hooks would run it; keeps the jobs in which somebody watched."""

    def __init__(self) -> None:
        self.jobs: list[Job] = []

    def __call__(self, job: Job) -> Evaluation:
        found = scored(job)
        if not job.observer:
            return found
        self.jobs.append(job)
        return Evaluation(**{**vars(found), "log": "own\nWhat the observer printed:\nstep {'x': 3}\nend {}\n"})


def test_an_agent_watches_its_program_and_sees_what_its_code_printed(begun, hooked: Path) -> None:
    model, run = Players(experiment=[ASKED, "ACTION: STOP"]), Watched()
    folder = begun(*SMALL, "budget.evaluations=4", "strategy.patience=2")
    outcome = search(folder, model, run=run, offers=frozenset([OBSERVER]))
    first, second = model.prompts("experiment")[:2]
    assert "- INSTRUMENT: watch the program at work" in first
    assert "The hooks are:\n  `step`: after each step: x\n- STOP" in first
    assert "The observer printed:\nstep {'x': 3}\nend {}\n" in second
    assert "\nown" not in second
    assert "1. instrument: see how it goes -> it ran." in second
    assert "LESSON" not in second
    (job,) = {job.observer: job for job in run.jobs}.values()
    assert (job.mode, job.problem_size, job.observer) == ("train", 3, WATCH)
    assert "return 50" in job.source  # the solution as it is, and not one of the observer's making
    with Store(folder.database, readonly=True) as store:
        probes = [record for record in store.records() if record.candidate.origin == PROBE]
    assert probes
    assert not any(record.placed for record in probes)
    assert outcome.progress.spent.evaluations == 2


@pytest.mark.parametrize(
    ("offers", "settings", "why"),
    [
        (frozenset(), (), "this evaluator has no hooks"),
        (frozenset([OBSERVER]), ("or_agent.instrument=false",), "this evaluator has no hooks"),
    ],
)
def test_where_nobody_can_watch_the_action_is_not_offered_and_says_so(begun, hooked, offers, settings, why) -> None:
    model, run = Players(experiment=ASKED, repair="ACTION: STOP"), Watched()
    search(begun(*SMALL, *settings, "budget.evaluations=4", "strategy.patience=2"), model, run=run, offers=offers)
    assert "INSTRUMENT" not in model.prompts("experiment")[0]
    assert why in model.prompts("repair")[0]
    assert run.jobs == []


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("def watch(x):\n    pass\n", "observe"),
        ("def observe(hook):\n    pass\n", "observe"),
        ("def observe(hook, data)\n    pass\n", "syntax"),
    ],
)
def test_an_observer_that_cannot_be_called_is_sent_back_and_never_run(begun, hooked, code: str, why: str) -> None:
    model = Players(experiment=f"ACTION: INSTRUMENT\n```python\n{code}```", repair="ACTION: STOP")
    run = Watched()
    folder = begun(*SMALL, "budget.evaluations=4", "strategy.patience=2")
    search(folder, model, run=run, offers=frozenset([OBSERVER]))
    assert why in model.prompts("repair")[0]
    assert run.jobs == []


def test_no_evaluation_that_counts_is_watched(begun, hooked: Path) -> None:
    """Neither in a cascade's first stage, which is on train, nor in a check."""
    jobs: list[Job] = []

    def run(job: Job) -> Evaluation:
        jobs.append(job)
        return scored(job)

    model = Players(experiment=[ASKED, f"ACTION: EDIT\n{guess(60)}", "ACTION: STOP"])
    settings = ("cascade=0.5", "budget.evaluations=8", "strategy.patience=3")
    search(begun(*SMALL, *settings), model, run=run, offers=frozenset([OBSERVER, "--check"]))
    assert {job.problem_size for job in jobs if job.observer} == {3}
    assert any(job.mode == "train" and not job.observer for job in jobs)
    assert any("--check" in word for job in jobs for word in job.arguments)
    assert not any("--check" in word for job in jobs if job.observer for word in job.arguments)


BRAKES = """
worst, kinds = {}, {}
def observe(hook, data):
    for one in data.get("vehicles", ()):
        change = one["acceleration"]
        if change is not None and change < worst.get(one["veh_id"], 0.0):
            worst[one["veh_id"]], kinds[one["veh_id"]] = change, one["veh_type"]
    if hook == "end":
        for name in sorted(worst, key=worst.get)[:3]:
            print(f"{name} ({kinds[name]}) braked by {-worst[name]:.2f} m/s2")
"""
GENTLE = """```python
def driving_actions(edge_info, vehicles_info):
    return [{"veh_id": one["veh_id"], "acceleration": 0.5, "lane_changing": 0} for one in vehicles_info]
```"""


@pytest.mark.slow
def test_a_scripted_agent_finds_which_vehicles_brake_hardest(tmp_path: Path) -> None:
    """In SUMO, by a hook: the agent's code is told every second, and the next prompt holds what it found."""
    need("libsumo")
    problem, config = load_problem(ROOT / "problems" / "driving"), (
        *SMALL, "or_agent.rounds=tree", "budget.evaluations=3", "budget.model_calls=12", "strategy.patience=2", "problem_size=2",
    )  # fmt: skip
    found: list[str] = []

    def experiment(prompt: str) -> str:
        seen = re.findall(
            r"^(\S+) \((\w+)\) braked by ([\d.]+) m/s2$", prompt.partition("The observer printed:")[2], re.M
        )
        if not seen:
            return f"ACTION: INSTRUMENT\n```python\n{BRAKES}```"
        found.extend(seen)
        return f"LESSON: {seen[0][0]} brakes hardest\nACTION: STOP"

    folder = make_folder(ROOT, tmp_path, problem, build_config({}, config, "test"))
    with EvaluationRunner() as runner:

        def run(job: Job) -> Evaluation:  # on train throughout: this is about what is seen, and val takes minutes
            return runner(
                job if job.mode else problem.make_job(job.source, ROOT, job.limits, "train", 2, job.arguments)
            )

        offers = find_options(problem, ROOT, runner)
        assert OBSERVER in offers
        search(folder, Players(code=GENTLE, experiment=experiment), run=run, workers=1, offers=offers)
    assert len(found) >= 3
    braked = [float(one[2]) for one in found[:3]]
    assert braked == sorted(braked, reverse=True)
    assert braked[0] > 1.0
    assert {one[1] for one in found} <= {"car", "truck", "bus", *problem_kinds()}
    step = next(step for tree in notes(folder, "tree") for node in tree["nodes"] for step in node["steps"])
    assert (step["kind"], step["outcome"]) == ("instrument", "it ran")


def problem_kinds() -> set[str]:
    from oragent.domains.driving.rules import TYPES

    return {kind.name for kind in TYPES.values()}
