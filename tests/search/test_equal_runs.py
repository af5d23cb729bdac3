"""Runs with equal settings, seeds and a model that answers by the prompt are equal although measured times differ."""

import random
import zlib
from dataclasses import replace
from typing import Any

import pytest

from oragent._base.errors import SandboxError
from oragent.evaluation import Evaluation, Job
from oragent.search.coarse_times import STEPS, describe_seconds, round_coarsely, round_down
from oragent.search.folder import RunFolder, reopen
from oragent.search.store import Store
from oragent.search.strategies.scripted import make_player
from tests.search.players import Players, search
from tests.search.test_action_round import ACTIONS, PRACTICE, SCALED
from tests.search.test_engine import history, scored

STRATEGIES = ("gp", "funsearch", "eoh", "reevo", "tide", "or_agent")
# Times of programs; measured ones differ from them by up to 6 %. Neither they nor eight times as much reach another step.
SECONDS = (0.045, 0.35, 0.95, 2.0, 4.5)


class Machine:
    """A machine on which the time of a program differs from run to run."""

    def __init__(self, seed: int) -> None:
        self.random, self.spread = random.Random(seed), 0.06
        self.count, self.ends_at = 0, 10**9

    def __call__(self, job: Job) -> Evaluation:
        self.count += 1
        if self.count == self.ends_at:
            raise SandboxError("the machine is switched off")
        evaluation = scored(job)
        exact_s = SECONDS[zlib.crc32(job.source.encode()) % len(SECONDS)]
        seconds = exact_s * self.random.uniform(1 - self.spread, 1 + self.spread)
        metrics = {
            "heuristic_seconds": seconds,
            "heuristic_calls": 7,
            "places_seconds": {"size 20": seconds},
            "instances_done": 8 if job.mode == "practice" else 64,
        }
        return replace(evaluation, metrics=evaluation.metrics | metrics, cpu_s=seconds, wall_s=seconds)


def contents(folder: RunFolder) -> dict[str, Any]:
    """Return what a run stores, without measured times and the moments at which it stored them."""
    with Store(folder.database, readonly=True) as store:
        replies = sorted((reply.key, reply.prompt, reply.text) for reply in store.replies.all_replies())
        notes = [(note.round, note.kind, note.text) for note in store.notes()]
        spent = {number: replace(used, seconds=0.0) for number, used in store.rounds().items()}
    return {"history": history(folder), "replies": replies, "notes": notes, "spent": spent}


@pytest.mark.slow
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_three_runs_of_a_strategy_are_equal_whatever_times_are_measured(begun: Any, strategy: str) -> None:
    runs = []
    for seed in range(3):
        folder = begun(
            "budget.evaluations=30", f"strategy.name={strategy}", "model.name=scripted", "strategy.live=false"
        )
        search(folder, make_player(0), run=Machine(seed), workers=1 + seed)
        runs.append(contents(folder))
    assert runs[0] == runs[1] == runs[2]
    assert runs[0]["replies"] or strategy == "gp"
    assert len(runs[0]["history"]) > 20


def answer(prompt: str) -> str:
    """Answer by all of the prompt, with a sweep."""
    number = zlib.crc32(prompt.encode())
    program = SCALED.replace("x * SCALE", f"x * SCALE + {number % 50}")
    return f"PROGRAM: scaled\nIDEA: Scale it.\nSWEEP: SCALE=4,5,{6 + number % 20},30\n```python\n{program}```"


def run_sweeps(folder: RunFolder, machine: Machine, workers: int = 2) -> dict[str, Any]:
    search(folder, Players(idea=answer, experiment=answer, code=answer), run=machine, workers=workers, offers=PRACTICE)
    return contents(folder)


SWEEPS = *ACTIONS, "budget.model_calls=8", "limits.heuristic_s=6", "strategy.live=false", "strategy.experiment_s=20"


def test_runs_with_sweeps_are_equal_whatever_times_are_measured(begun: Any) -> None:
    runs = [run_sweeps(begun(*SWEEPS), Machine(seed)) for seed in range(3)]
    assert runs[0] == runs[1] == runs[2]
    assert any("CPU seconds are left" in prompt for _, prompt, _ in runs[0]["replies"])
    assert any(kind == "experiment seconds" for _, kind, _ in runs[0]["notes"])


def make_wild_machine(seed: int, ends_at: int = 10**9) -> Machine:
    """Return a machine whose times differ so much that other programs fit the limit."""
    machine = Machine(seed)
    machine.spread, machine.ends_at = 0.5, ends_at
    return machine


def test_a_replay_has_the_times_of_the_first_run(begun: Any) -> None:
    first, again = begun(*SWEEPS), begun(*SWEEPS)
    expected = run_sweeps(first, make_wild_machine(0))
    with Store(again.database) as store:
        store.take_times(first.database)
    assert run_sweeps(again, make_wild_machine(1)) == expected
    assert run_sweeps(begun(*SWEEPS), make_wild_machine(1)) != expected


@pytest.mark.parametrize("ends_at", [7, 16, 25])
def test_a_resumed_run_asks_nothing_twice_whatever_times_are_measured_then(begun: Any, ends_at: int) -> None:
    folder = begun(*SWEEPS)
    with pytest.raises(SandboxError):
        run_sweeps(folder, make_wild_machine(0, ends_at))
    before = contents(folder)
    after = run_sweeps(reopen(folder.path, []), make_wild_machine(1))
    assert after["history"][: len(before["history"])] == before["history"]
    assert after["notes"][: len(before["notes"])] == before["notes"]
    # A call whose prompt differed would be stored a second time.
    keys = [key for key, _, _ in after["replies"]]
    assert len(keys) == len(set(keys)) == 8


@pytest.mark.parametrize(
    ("value", "nearest", "below"),
    [
        (1.0, 1, 1),
        (1.3, 1.5, 1),
        (2.4, 2, 2),
        (2.5, 3, 2),
        (629, 700, 500),
        (630, 700, 500),
        (0.04, 0.05, 0.03),
        (9.9, 10, 7),
    ],
)
def test_times_are_rounded_to_steps(value: float, nearest: float, below: float) -> None:
    assert (round_coarsely(value), round_down(value)) == (nearest, below)


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf")])
def test_what_is_no_time_becomes_zero(value: float) -> None:
    assert (round_coarsely(value), round_down(value)) == (0.0, 0.0)


@pytest.mark.parametrize("power", range(-3, 6))
def test_every_step_is_its_own_rounding(power: int) -> None:
    for step in STEPS:
        value = step * 10.0**power
        assert round_coarsely(value) == pytest.approx(value)
        assert round_down(value) == pytest.approx(value)
        assert round_down(0.999 * value) < value


def test_short_times_are_not_told_apart() -> None:
    assert describe_seconds(0.001) == describe_seconds(0.09) != describe_seconds(0.11)
