"""What may be done to a program, action by action: what a probe runs is never a solution, and all else may be one."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from oragent._base.protocol import Status
from oragent.evaluation import Evaluation, Job
from oragent.evaluation.capabilities import INSTANCES
from oragent.report.run import load_run
from oragent.search.archive import success_rate
from oragent.search.candidate import PROBE, Candidate, Committed
from oragent.search.events import Progress
from oragent.search.folder import RunFolder, reopen
from oragent.search.round_context import RoundContext
from oragent.search.store import Store
from oragent.search.strategies import STRATEGIES
from oragent.search.strategies.scripted import make_player
from tests.search.players import QUIET, Players, edit, guess, notes
from tests.search.players import search as play
from tests.search.test_engine import scored, search
from tests.search.test_purity_checks import OFFERS, Checker
from tests.search.test_purity_checks import search as search_checked

PERFECT = "def guess(x):\n    print(x)\n    return 100\n"
PROBING = f"ACTION: PROBE\n```python\n{PERFECT}```"
SMALL = (*QUIET, "model.name=m", "or_agent.depth=1", "or_agent.tuning_evaluations=4")
ACTIONS = {  # what an experiment says, and the origins of what may become a solution by it
    "EDIT": (edit("    return 50", "    return 90"), {"experiment"}),
    "TUNE": ("ACTION: TUNE\nc0 40 99", {"tune"}),
    "PROBE": (PROBING, set()),
    "STOP": ("ACTION: STOP", set()),
}


def records(folder: RunFolder) -> list[Committed]:
    with Store(folder.database, readonly=True) as store:
        return store.records()


def elites(folder: Path) -> Iterator[str]:
    """Ids of the programs that a run leaves as its elites."""
    return (path.name for path in (folder / "candidates").iterdir())


@pytest.mark.parametrize("action", ACTIONS)
def test_an_action_of_or_agent_makes_solutions_or_none(begun, action: str) -> None:
    said, wanted = ACTIONS[action]
    folder = begun(*SMALL, "budget.evaluations=8", "strategy.patience=3")
    play(folder, Players(experiment=[said, "ACTION: STOP"]))
    made = [record for record in records(folder) if record.candidate.origin not in ("seed", "code", "repair")]
    assert {record.candidate.origin for record in made if record.placed} == wanted
    assert {record.candidate.origin for record in made} == (wanted or ({PROBE} if action == "PROBE" else set()))


def test_a_probe_that_would_win_is_no_best_no_elite_no_root_and_counts_nowhere(begun) -> None:
    told: list[Progress] = []
    folder = begun(*SMALL, "budget.evaluations=12", "strategy.patience=4", "or_agent.experiments=2")
    model = Players(
        code=[guess(value) for value in range(40, 60)], experiment=[PROBING, PROBING.replace("x)", "x, 1)")]
    )
    play(folder, model, observer=told.append)
    made = records(folder)
    probes = {record.id for record in made if record.candidate.origin == PROBE}
    assert probes
    assert all(record.score == 0 and record.placed == "" for record in made if record.id in probes)
    assert "print" not in (folder.path / "best.py").read_text()
    assert not probes & set(elites(folder.path))
    trees = notes(folder, "tree")
    assert not probes & {name for tree in trees for name in tree["start"]}
    assert not probes & {node["candidate"] for tree in trees for node in tree["nodes"]}
    assert not probes & {parent for record in made for parent in record.candidate.parents}
    assert not any("print" in prompt for prompt in model.prompts("idea"))
    assert all(not candidate.is_probe for progress in told for candidate in progress.candidates)
    data = load_run(folder.path)
    assert data.best.score == min(record.score for record in made if record.id not in probes)
    assert (data.spend.candidates, data.spend.probes) == (len(made) - len(probes), len(probes))
    assert min(point.best for point in data.by_evaluations) == data.best.score
    solutions = {record.candidate.fingerprint for record in made if record.id not in probes}
    assert data.spend.evaluations == len(solutions) == told[-1].spent.evaluations  # probes cost none


@pytest.mark.slow
@pytest.mark.parametrize("strategy", sorted(STRATEGIES))
def test_of_all_that_a_strategy_does_probes_alone_never_enter(begun, strategy: str) -> None:
    """With a model that does everything, some of it wrong: what is placed is scored, and what is a probe is not."""
    longer = ("strategy.options.members=[or_agent,random]", "budget.evaluations=140")
    folder = begun(
        f"strategy.name={strategy}", "model.name=m", "budget.evaluations=90", "or_agent.initial_ideas=2",
        "or_agent.tuning_evaluations=4", "strategy.patience=60", *(longer if strategy == "portfolio" else ()),
    )  # fmt: skip
    play(folder, make_player(1))
    made = {record.id: record for record in records(folder)}
    probes = {name for name, record in made.items() if record.candidate.is_probe}
    assert bool(probes) == (strategy in ("or_agent", "portfolio"))
    for name, record in made.items():
        assert bool(record.placed) == (record.score is not None and name not in probes)
        assert not probes & set(record.candidate.parents)
    assert not probes & set(elites(folder.path))
    assert not any('print("probe"' in made[name].source for name in elites(folder.path))


@pytest.mark.parametrize("first", ["probe", "solution"])
def test_a_program_that_is_probed_and_submitted_counts_as_submitted_and_is_paid_for_once(begun, first: str) -> None:
    async def one_round(run: RoundContext) -> None:
        if first == "probe":
            await run.experiments.probe(PERFECT, ["0.0"])
        solution = await run.evaluate(PERFECT, ["0.0"], "own")
        await run.experiments.probe(PERFECT, [solution.id])
        await run.evaluate(PERFECT.replace("100", "99"), [solution.id], "child")

    folder = begun("strategy.window=1", "strategy.patience=1")
    outcome = search(folder, one_round)
    made = {record.candidate.origin: record for record in reversed(records(folder))}
    assert outcome.progress.spent.evaluations == load_run(folder.path).spend.evaluations == 3
    assert made["own"].placed
    assert made["child"].candidate.parents == (made["own"].id,)
    assert outcome.progress.best.id == load_run(folder.path).best.id == made["own"].id


@pytest.mark.parametrize(("offers", "wanted"), [(frozenset({INSTANCES}), ("--instances=3",)), (frozenset(), ())])
def test_a_probe_runs_one_size_and_a_few_instances_where_the_evaluator_offers_that(
    begun, toy: Path, offers: frozenset[str], wanted: tuple[str, ...]
) -> None:
    (toy / "problem.yaml").write_text((toy / "problem.yaml").read_text() + "sizes: {train: [9, 3], val: [5]}\n")
    jobs: list[Job] = []

    async def one_round(run: RoundContext) -> None:
        await run.experiments.probe(PERFECT, ["0.0"])
        await run.evaluate(PERFECT, ["0.0"], "own")

    def keeping(job: Job) -> Evaluation:
        jobs.append(job)
        return scored(job)

    folder = begun("strategy.window=1", "strategy.patience=1")
    search_checked(folder, one_round, keeping, offers=offers)
    asked = {(job.mode, job.problem_size, job.arguments) for job in jobs if job.source == PERFECT}
    assert asked == {("train", 3, wanted), (None, None, ())}


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 3])
def test_a_run_that_finds_no_new_program_makes_a_bounded_number_of_probes(begun, workers: int) -> None:
    """Every program is a duplicate after the third, and each round probes anew, in branches and before them."""

    async def look(run: RoundContext, number: int) -> None:
        for step in range(3):
            await run.experiments.probe(
                f"def guess(x):\n    print({run.number}, {number}, {step})\n    return 1\n", ["0.0"]
            )

    async def one_round(run: RoundContext) -> None:
        await look(run, -1)
        await run.fork([partial(look, number=number) for number in range(2)])
        await run.evaluate(f"def guess(x):\n    return {run.number % 3}\n", ["0.0"], "own")

    folder = begun("strategy.window=1", "strategy.patience=100", "strategy.tuning=0")
    outcome = search(folder, one_round, workers=workers)
    probes = [record.candidate.evaluation for record in records(folder) if record.candidate.is_probe]
    assert outcome.progress.spent.evaluations == 4
    assert outcome.reason.startswith("no new program to score in 100 rounds")
    # 20 and one for each of 4 evaluations; the second branch of the last round does not see the probes of the first.
    assert 24 <= sum(evaluation.was_started for evaluation in probes) <= 24 + 3
    assert len(probes) > 900
    assert probes[-1].message == "no probe is left: 24 for 4 evaluations are used; write a new program"


def test_a_probe_may_be_near_to_what_it_probes(begun) -> None:
    seen = []

    async def one_round(run: RoundContext) -> None:
        near = "def guess(x):\n    print(x)\n    return x * 2.0\n"
        seen.append((await run.experiments.probe(near, ["0.0"])).evaluation.status)
        other = "def guess(x):\n    print(x)\n    return x * 2.5\n"  # as near to the probe as to the seed
        seen.append((await run.evaluate(other, ["0.0"], "own")).evaluation.message)

    search(begun("strategy.novelty=0.6", "budget.evaluations=9", "strategy.window=1", "strategy.patience=1"), one_round)
    assert seen[0] == "ok"
    assert "hardly differs from candidate 0.0" in seen[1]


def test_a_probe_is_not_checked_as_it_never_leads_and_a_cheat_gains_nothing_by_it(begun) -> None:
    cheat, checker = "def guess(x):\n    cheat = 1\n    return 100\n", Checker()

    async def one_round(run: RoundContext) -> None:
        await run.experiments.probe(cheat, ["0.0"])
        if run.number > 1:
            await run.evaluate(cheat, ["0.0"], "own")

    folder = begun("budget.evaluations=20", "strategy.window=1", "strategy.patience=2")
    outcome = search_checked(folder, one_round, checker, offers=OFFERS)
    assert outcome.progress.best.id == "0.0"
    assert [record.placed for record in records(folder) if record.candidate.origin == PROBE] == [""] * 4
    assert len([job for job in checker.checked if "cheat" in job.source]) == 1  # of the one that was submitted


def test_a_model_gets_no_credit_for_probes() -> None:
    def record(name: str, origin: str, score: float) -> Committed:
        candidate = Candidate(
            source="", fingerprint=name, parents=(), origin=origin, island=0, call=0,
            evaluation=Evaluation(Status.OK, score),
        )  # fmt: skip
        return Committed(id=name, candidate=candidate, placed="", elapsed_s=0.0)

    seed, probe, worse = record("0.0", "seed", 1.0), record("1.0", PROBE, 9.0), record("1.1", "code", 0.5)
    assert success_rate([[seed], [probe]], float) == 0
    assert success_rate([[seed], [probe, worse]], float) == 0
    assert success_rate([[seed], [probe, record("1.1", "code", 2.0)]], float) == 1


def test_a_run_of_a_time_when_probes_could_win_goes_on_without_them(begun) -> None:
    folder = begun(*SMALL, "budget.evaluations=4", "strategy.patience=3")
    play(folder, Players(experiment=[PROBING, "ACTION: STOP"]))
    (probe, *_) = [record for record in records(folder) if record.candidate.origin == PROBE]
    with Store(folder.database) as store:  # as it was left then
        number, position = probe.id.split(".")
        store._db.execute("UPDATE candidates SET placed = 'NEW' WHERE round = ? AND number = ?", number, position)
    (folder.path / "best.py").write_text(PERFECT)
    assert load_run(folder.path).best.score == 50
    outcome = play(reopen(folder.path, ["budget.evaluations=5"]), Players(experiment="ACTION: STOP"))
    assert outcome.progress.best.score == 50
    assert "print" not in (folder.path / "best.py").read_text()
