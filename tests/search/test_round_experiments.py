"""Probes and sweeps of a round: their budgets, the arrays that probes keep, and what a round reports of them."""

import asyncio
import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from oragent._base.budget import Spent
from oragent._base.direction import Direction
from oragent._base.errors import CandidateError, ConfigError, SearchFinished
from oragent._base.protocol import Status
from oragent.evaluation import Evaluation
from oragent.evaluation.job import KEPT_METRIC
from oragent.programs.inspection import signature_of
from oragent.programs.kept_arrays import MAX_OF_RUN
from oragent.search import round_experiments
from oragent.search.candidate import PROBE
from oragent.search.experiments import CPU_S, EVOLVED_SETTINGS, MIN_S, PRACTICE, ProbeResult, Subset
from oragent.search.round_experiments import (
    ARRAY,
    EXPERIMENT_S,
    FREE_EXPERIMENTS,
    FREE_PROBES,
    KeptNote,
    RoundExperiments,
)
from oragent.search.scoring import ScoredProgram
from oragent.search.store import RoundNote

SOURCE = "A = 4  # param: A = 4, 0..10\n\ndef guess(x):\n    return x * A\n"


class Scorer:
    """Records what it is asked for."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.offers_instances, self.draws_practice = True, True
        self.practice: int | None = 8
        self.hooks = {"step": "the state"}
        self.keeps_arrays = True
        self.metrics: dict[str, Any] = {}

    def reject(self, text: str, why: str) -> ScoredProgram:
        self.asked.append(("reject", text, why))
        return ScoredProgram("rejected", Evaluation(Status.REJECTED, message=why))

    async def probe(self, source: str, seen: Any, observer: str) -> ScoredProgram:
        self.asked.append(("probe", source, seen, observer))
        return ScoredProgram("probed", Evaluation(Status.OK, 1.0, metrics=self.metrics))

    async def measure(self, seen: Any, *rest: Any) -> Evaluation:
        raise AssertionError("the runs of sweeps and probes are replaced")


def make_run(**changes: Any) -> Any:
    given: dict[str, Any] = {
        "number": 4, "horizon": 3, "memory": [], "notes": [], "written": (), "spent": Spent(evaluations=5),
        "experiment_share": None, "experiment_s": 30.0, "window": 2, "probe_count": 0, "size": None, "stops": False,
    }  # fmt: skip
    given |= changes
    checks: list[bool] = []

    def check(lacks: bool) -> None:
        checks.append(lacks)
        if given["stops"]:
            raise SearchFinished("over")

    async def in_time(work: Any) -> Any:
        return await work

    context = SimpleNamespace(scoring=Scorer(), probes=[0, 3, 9], sweeping={}, in_time=in_time)
    added: list[Any] = []
    return SimpleNamespace(
        context=context, case=SimpleNamespace(check_may_continue=check), checks=checks, added=added,
        rng=np.random.default_rng(1), make_view=lambda origin, parents: (origin, [*parents]),
        add_candidate=lambda *arguments: added.append(arguments),
        recall=lambda kind: [note for note in given["memory"] if note.kind == kind],
        problem=SimpleNamespace(
            signature=signature_of(SOURCE, "guess"),
            about=SimpleNamespace(direction=Direction.MINIMIZE, sizes={"train": [10, 20], "val": [20]}),
        ),
        settings=SimpleNamespace(
            strategy=SimpleNamespace(experiment_s=given["experiment_s"]), problem_size=given["size"]
        ),
        **{
            name: given[name]
            for name in ("number", "horizon", "memory", "notes", "written", "spent", "experiment_share", "window", "probe_count")
        },
    )  # fmt: skip


def array(name: str, digest: str, number: int = 1) -> RoundNote:
    return RoundNote(number, ARRAY, KeptNote(number, name, digest, "<f8", (3, 2)).dump())


def test_a_kept_array_is_stored_as_text_with_the_call_that_loads_it() -> None:
    note = KeptNote(4, "table", "abc", "<f8", (3, 2))
    assert KeptNote.parse(4, note.dump()) == note
    assert note.call == 'load_array("table", "abc"): float64 of shape (3, 2)'


@pytest.mark.parametrize(
    ("horizon", "so_far", "evaluations", "runs"),
    [
        (-1, FREE_PROBES + 4, 5, True),
        (-1, FREE_PROBES + 5, 5, False),
        (0, FREE_PROBES + 1, 5, True),
        (0, FREE_PROBES + 2, 5, False),
        (3, FREE_PROBES - 5, 5, True),
        (3, FREE_PROBES - 4, 5, False),
        (3, FREE_PROBES - 9, 0, False),
        (3, FREE_PROBES - 10, 0, True),
    ],
)
def test_a_run_may_make_some_probes_and_one_more_for_each_evaluation(
    horizon: int, so_far: int, evaluations: int, runs: bool
) -> None:
    # 0, 3 and 9 probes were committed up to the rounds -1, 0 and 1.
    run = make_run(horizon=horizon, probe_count=so_far, spent=Spent(evaluations=evaluations))
    asyncio.run(RoundExperiments(run).probe(SOURCE, ["1.0"], 7, observer="observe"))
    (asked,) = run.context.scoring.asked
    ((source, scored, parents, origin, call),) = run.added
    assert (source, parents, origin, call) == (SOURCE, ["1.0"], PROBE, 7)
    if runs:
        assert asked == ("probe", SOURCE, (PROBE, ["1.0"]), "observe")
        assert scored.name == "probed"
    else:
        assert asked[0] == "reject"
        assert str(FREE_PROBES + evaluations) in asked[2]
        assert scored.evaluation.status is Status.REJECTED
    assert run.checks == [False]


def test_a_probe_without_hooks_has_no_observer_and_one_without_its_array_is_rejected() -> None:
    run = make_run()
    run.context.scoring.hooks = {}
    asyncio.run(RoundExperiments(run).probe(SOURCE, [], observer="observe"))
    assert run.context.scoring.asked[0][-1] == ""
    assert run.added[0][-1] is None
    loading = 'T = load_array("table")\n' + SOURCE
    asyncio.run(RoundExperiments(run).probe(loading, []))
    assert run.context.scoring.asked[1][:2] == ("reject", loading)
    known = make_run(memory=[array("table", "a" * 16)])
    asyncio.run(RoundExperiments(known).probe(loading, []))
    assert f'load_array("table", "{"a" * 16}")' in known.context.scoring.asked[0][1]


def test_the_latest_array_of_a_name_counts() -> None:
    run = make_run(
        memory=[array("a", "1"), array("b", "2"), RoundNote(1, "other", "text")],
        written=(array("b", "3"), array("c", "4", 4)),
        notes=[array("c", "5", 4)],
    )
    found = RoundExperiments(run).list_arrays()
    assert {name: note.digest for name, note in found.items()} == {"a": "1", "b": "3", "c": "5"}
    assert [note.round for note in found.values()] == [1, 1, 4]


@pytest.mark.parametrize(("before", "more"), [(0, 2), (MAX_OF_RUN - 1, 1), (MAX_OF_RUN, 0), (MAX_OF_RUN + 1, 0)])
def test_arrays_of_a_probe_are_noted_up_to_a_number(before: int, more: int) -> None:
    run = make_run(memory=[array(f"a{number}", "1") for number in range(before)])
    run.context.scoring.metrics = {KEPT_METRIC: {"x": ["dx", "<f8", [2]], "y": ["dy", "<i8", []]}}
    asyncio.run(RoundExperiments(run).probe(SOURCE, []))
    noted = [KeptNote.parse(note.round, note.text) for note in run.notes if note.kind == ARRAY]
    assert noted == [KeptNote(4, "x", "dx", "<f8", (2,)), KeptNote(4, "y", "dy", "<i8", ())][:more]
    run = make_run()
    run.context.scoring.metrics = {KEPT_METRIC: "too large"}
    asyncio.run(RoundExperiments(run).probe(SOURCE, []))
    assert run.notes == []


def seconds(*values: float) -> list[RoundNote]:
    return [RoundNote(1, EXPERIMENT_S, repr(value)) for value in values] + [RoundNote(1, "other", "7.0")]


@pytest.mark.parametrize(
    ("changes", "left"),
    [
        ({"experiment_s": None}, math.inf),
        ({}, 30.0 * (FREE_EXPERIMENTS + 5) / 2),
        ({"memory": seconds(50.0, 10.0)}, (30.0 * (FREE_EXPERIMENTS + 5) - 60.0) / 2),
        ({"memory": seconds(50.0), "notes": seconds(4.0, 6.0)}, (30.0 * (FREE_EXPERIMENTS + 5) - 50.0) / 2 - 10.0),
        ({"experiment_share": 12.0, "memory": seconds(50.0), "notes": seconds(4.0)}, 8.0),
        ({"experiment_share": 3.0, "notes": seconds(4.0)}, 0.0),
        ({"experiment_share": 0.0}, 0.0),
    ],
)
def test_the_seconds_for_experiments_grow_with_the_evaluations(changes: dict[str, Any], left: float) -> None:
    assert RoundExperiments(make_run(**changes)).cpu_s_left == pytest.approx(left)


def probe_train(run: Any, monkeypatch: pytest.MonkeyPatch, subset: Subset | None = None, **options: Any) -> list[Any]:
    asked: list[Any] = []

    async def run_probe(measure: Any, source: str, subset: Subset, cpu_s: float, observer: str) -> ProbeResult:
        asked.append((measure.args, source, subset, cpu_s, observer))
        return ProbeResult((), "", 2.5)

    monkeypatch.setattr(round_experiments, "run_probe", run_probe)
    asyncio.run(RoundExperiments(run).probe_train(SOURCE, subset or Subset(), **options))
    return asked


@pytest.mark.parametrize(("share", "limit_s"), [(None, CPU_S), (20.0, 20.0), (MIN_S, MIN_S)])
def test_a_probe_of_chosen_instances_uses_the_seconds_that_are_left(
    share: float | None, limit_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run(experiment_share=share)
    ((measuring, source, subset, cpu_s, observer),) = probe_train(run, monkeypatch, observer="observe")
    assert measuring == ((PROBE, []),)
    assert (source, subset, cpu_s, observer) == (SOURCE, Subset((10, 20)), limit_s, "observe")
    assert run.notes == [RoundNote(4, EXPERIMENT_S, "2.5")]
    assert run.checks == [False]
    unlimited = make_run(experiment_s=None)
    unlimited.context.scoring.hooks = {}
    assert probe_train(unlimited, monkeypatch, observer="observe", cpu_s=7.0)[0][3:] == (7.0, "")
    assert unlimited.notes == []


@pytest.mark.parametrize("kind", ["probe_train", "sweep"])
def test_experiments_need_seconds_and_instances_that_exist(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def attempt(run: Any, subset: Subset, source: str = SOURCE) -> None:
        words = [["A=1"]] if kind == "sweep" else []
        asyncio.run(getattr(RoundExperiments(run), kind)(source, *words, subset))

    with pytest.raises(ConfigError):
        attempt(make_run(experiment_share=MIN_S - 0.01), Subset())
    with pytest.raises(ConfigError):
        attempt(make_run(), Subset((99,)))
    with pytest.raises(SearchFinished):
        attempt(make_run(stops=True), Subset())
    with pytest.raises(CandidateError):
        attempt(make_run(), Subset(), 'T = load_array("table")\n' + SOURCE)
    run = make_run()
    run.context.scoring.offers_instances = False
    with pytest.raises(ConfigError):
        attempt(run, Subset((), "3"))


@pytest.mark.parametrize(
    ("subset", "draws", "halves"),
    [(Subset((), "8", PRACTICE), True, True), (Subset((), "8", PRACTICE), False, False), (Subset(), True, False)],
)
def test_a_sweep_is_shown_while_it_runs_and_counts_its_seconds(
    subset: Subset, draws: bool, halves: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    shown: list[str] = []
    run = make_run(experiment_share=40.0)
    run.context.scoring.draws_practice = draws

    async def run_sweep(*arguments: Any, notice: Any, **options: Any) -> Any:
        asked.append((arguments, options))
        for ended, used_s in ((0, 0.0), (2, 7.6), (3, 9.0)):
            notice(ended, 3, used_s)
            (job,) = run.context.sweeping.values()
            shown.append(job.what)
        if options["settings"] == 1:
            raise ConfigError("no")
        return SimpleNamespace(cpu_s=9.0)

    def sweep(**options: Any) -> None:
        asyncio.run(RoundExperiments(run).sweep(SOURCE, ["A=1,2"], subset, **options))

    monkeypatch.setattr(round_experiments, "run_sweep", run_sweep)
    sweep(least=4)
    ((measuring, _, source, axes, chosen, direction), options) = asked[0]
    assert (measuring.args, source, direction) == ((("sweep", []),), SOURCE, Direction.MINIMIZE)
    assert [(axis.name, axis.values) for axis in axes] == [("A", (1, 2))]
    assert chosen == (subset if subset.mode == PRACTICE else Subset((10, 20)))
    seed = int(np.random.default_rng(1).integers(1 << 31))
    assert options == {
        "cpu_s": 40.0, "settings": EVOLVED_SETTINGS, "seed": seed, "least": 4, "refit": None, "halving": halves,
    }  # fmt: skip
    assert all("round 4" in what and "of 40 " in what for what in shown)
    assert ["1 of 3" in what for what in shown] == [True, False, False]
    assert ["3 of 3" in what for what in shown] == [False, True, False]
    assert ["8 of 40" in what for what in shown] == [False, True, False]
    assert run.context.sweeping == {}
    assert run.notes == [RoundNote(4, EXPERIMENT_S, "9.0")]

    def refit(present: float, row: Any) -> None:
        return None

    sweep(settings=5, refit=refit, cpu_s=3.0)
    assert (asked[1][1]["settings"], asked[1][1]["refit"], asked[1][1]["cpu_s"]) == (5, refit, 3.0)
    with pytest.raises(ConfigError):
        sweep(settings=1)
    assert run.context.sweeping == {}
    assert len(run.notes) == 2


@pytest.mark.parametrize(
    ("practice", "size", "subset"),
    [
        (8, None, Subset((), "8", PRACTICE)),
        (8, 20, Subset((20,), "8", PRACTICE)),
        (None, None, Subset()),
        (None, 20, Subset()),
    ],
)
def test_sweeps_use_practice_instances_where_there_are_some(
    practice: int | None, size: int | None, subset: Subset
) -> None:
    run = make_run(size=size)
    run.context.scoring.practice = practice
    experiments = RoundExperiments(run)
    assert experiments.instances == subset
    assert experiments.keeps_arrays is True
    assert experiments.hooks == {"step": "the state"}


def test_programs_of_other_languages_load_no_arrays() -> None:
    run = make_run()
    loading = 'load_array("table")'
    run.problem.signature = SimpleNamespace(language="cpp")
    assert RoundExperiments(run).pin_arrays(loading) == loading
