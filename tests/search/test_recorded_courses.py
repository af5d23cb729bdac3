"""A seed and the same replies give the same search in every version: courses of runs, and children of programs.

A change that is meant to change them prints the new digest, which replaces the one here. Texts that Python writes from
syntax trees differ between its versions, so the digests are of one version.
"""

import ast
import hashlib
import random
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from oragent._base.errors import CandidateError
from oragent.evaluation import Evaluation, Job
from oragent.search.genetics.variation import vary
from oragent.search.store import Store
from oragent.search.strategies import scripted
from oragent.search.strategies.constants import find_constants, with_values
from oragent.search.strategies.scripted import make_player

from .test_engine import scored
from .test_strategies import search
from .test_variation import BINS, EDGES, NEAREST, NEAREST_ARRAY, NEAREST_LOOP

pytestmark = pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="digests of Python 3.11")

WIDE = '''import numpy as np


def weigh(values: np.ndarray, power: float = 1.5) -> np.ndarray:
    """Weights that sum to one."""
    shares = np.where(values > 0.25, values**power, 0.5 * values)
    return shares / (shares.sum() + 1e-9)


def heuristics(distances: np.ndarray, demands: np.ndarray, capacity: int) -> np.ndarray:
    """Promise of every edge."""
    n = distances.shape[0]
    near = 1.0 / (distances + 0.1 * np.eye(n))
    load = np.minimum(demands[:, None] + demands[None, :], capacity)
    total = 0.0
    for i in range(n):
        row = near[i]
        if row.max() > 3.0 and i % 2 == 0:
            total += float(np.log1p(row.mean()))
        else:
            total -= 0.05
    scores = weigh(near) * np.exp(-load / capacity) + total * 1e-3
    return np.clip(scores, 1e-6, None) if capacity > 2 else np.abs(scores)
'''
COMPRESSED = '''import math


def guess(x):
    """An answer."""
    table = [0.5, 1.25, 2.0]
    best = max(table, key=lambda v: abs(v - x))
    while x > 10 and best < 4.5:
        x, best = x / 2.0, best + 0.75
    return math.sqrt(x**2 + best) + sum(v * 0.3 for v in table if v > 1.0)
'''
PROGRAMS = {
    "edges": (EDGES, "heuristics", ()), "bins": (BINS, "priority", ("item / bins_remain_cap",)),
    "nearest": (NEAREST, "select_next_node", ()), "array": (NEAREST_ARRAY, "select_next_node", ()),
    "loop": (NEAREST_LOOP, "select_next_node", ()), "wide": (WIDE, "heuristics", ("distances.mean(axis=1)",)),
    "compressed": (COMPRESSED, "guess", ()),
}  # fmt: skip
CHILDREN = {
    "edges": "306519fc84b3", "bins": "68dbbb758ff9", "nearest": "2629b640bd37", "array": "000c4cb1d22d", "loop": "beb7063bfeca", "wide": "5b6414dc6132", "compressed": "97d3b03d1024",
}  # fmt: skip


def digest(value: object) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()[:12]


@pytest.mark.parametrize("name", PROGRAMS)
def test_children_of_a_program_are_those_of_earlier_versions(name: str) -> None:
    source, function, primitives = PROGRAMS[name]
    children: list[tuple[str, str]] = []
    parent = source
    for seed in range(60):
        mate = [None, WIDE, NEAREST_ARRAY][seed % 3]
        try:
            child = vary(parent, mate, function=function, primitives=primitives, rng=np.random.default_rng(seed))
        except CandidateError as problem:
            children.append(("", type(problem).__name__))
            continue
        # Without layout.
        children.append((ast.unparse(ast.parse(child.source)), child.operator))
        # A lineage of five, then from the start again.
        parent = child.source if seed % 5 < 4 else source
    assert digest(children) == CHILDREN[name]


# The other programs have none.
CONSTANTS = {"edges": "b6a878e9a0d7", "wide": "8d2d517ec64a", "compressed": "5a9a15ad8dce"}


@pytest.mark.parametrize("name", CONSTANTS)
def test_constants_of_a_program_are_those_of_earlier_versions(name: str) -> None:
    source, function, _ = PROGRAMS[name]
    constants = find_constants(source, function)
    changed = with_values(source, function, {constant.number: 7.5 for constant in constants[:3]})
    assert digest((constants, changed)) == CONSTANTS[name]


OR_AGENT = "strategy.name=or_agent"
SETTINGS = {
    "ael": ("strategy.name=ael",), "eoh": ("strategy.name=eoh",), "funsearch": ("strategy.name=funsearch",),
    "gp": ("strategy.name=gp", "archive.migration_period=3", "archive.reset_period=7"), "levi": ("strategy.name=levi",),
    "mcts_ahd": ("strategy.name=mcts_ahd",), "portfolio": ("strategy.name=portfolio",), "reevo": ("strategy.name=reevo",),
    "tide": ("strategy.name=tide",), "tree": (OR_AGENT,), "actions": (OR_AGENT, "or_agent.rounds=actions"),
    "flow": (OR_AGENT, "or_agent.allocation=flow", "or_agent.reflection_calls=own"),
    "even": (OR_AGENT, "or_agent.allocation=even", "or_agent.ideas=independent", "or_agent.tuning_evaluations=6"),
}  # fmt: skip
COURSES = {
    "ael": "1acb47eb38f6", "eoh": "27a84a07814e", "funsearch": "e54fdf28d30a", "gp": "8db2d7d7e64a", "levi": "8bbd150e1263", "mcts_ahd": "025082560176", "portfolio": "5634ab0ac5c7", "reevo": "2e640c973228", "tide": "b6ebef12817e", "tree": "26c3da7b4e79", "actions": "6a674615d2d0", "flow": "30ff8d9bbd22", "even": "43a25379dad1",
}  # fmt: skip


@pytest.mark.parametrize("name", SETTINGS)
def test_a_course_is_that_of_earlier_versions(name: str, begun: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    # Replies depend on the key of a call and on the programs that its prompt shows, but not on its wording.
    seeded = SimpleNamespace(Random=lambda text: random.Random(" ".join(text.split(" ")[:2])))
    monkeypatch.setattr(scripted, "random", seeded)

    def run(job: Job) -> Evaluation:
        ended = scored(job)
        return Evaluation(
            ended.status, ended.score, ended.features, ended.metrics, ended.message, wall_s=0.001, cpu_s=0.5
        )

    folder = begun(
        "budget.evaluations=30", "model.name=scripted", "strategy.patience=60", "strategy.window=2", *SETTINGS[name]
    )
    outcome = search(folder, make_player(0), 1, run)
    with Store(folder.database, readonly=True) as store:
        course = [
            (
                record.id, record.candidate.origin, record.candidate.island, record.candidate.parents, record.placed,
                str(record.candidate.evaluation.status), record.score, record.candidate.source,
            )
            for record in store.records()
        ]  # fmt: skip
        calls = [(reply.key, reply.role) for reply in store.replies.all_replies()]
        spent = [(number, of.evaluations, of.model_calls) for number, of in store.rounds().items()]
        notes = [(note.round, note.kind) for note in store.notes()]
        found = digest((course, calls, spent, notes, outcome.complete, outcome.progress.best.id, store.resets().keys()))
    assert found == COURSES[name]
