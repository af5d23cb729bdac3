"""Runs made by hand: the files that a search leaves, without a search."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from oragent._base.budget import Spent
from oragent._base.protocol import Status
from oragent.evaluation import Evaluation
from oragent.ledger import RecordedReply
from oragent.search.archive import Archive
from oragent.search.candidate import Candidate, Elite
from oragent.search.store import Store

SEED = '''import numpy as np


def heuristics(distances):
    """Weights for the ants: short edges are good."""
    return 1.0 / distances
'''
FEATURES = [
    {"name": "greediness", "bins": 4, "meaning": "how sharply weights fall with distance"},
    {"name": "symmetry", "bins": 3, "meaning": "how far weights differ between the two ways of an edge"},
]


@dataclass(frozen=True)
class Made:
    """A candidate to be written: its source and how it did; None for a score is a failure."""

    source: str
    score: float | None
    features: tuple[int, ...] | None = (0, 0)
    parents: tuple[str, ...] = ("0.0",)
    origin: str = "jitter"
    island: int = 0
    status: Status = Status.ERROR
    message: str = ""
    wall_s: float = 2.0
    call: int | None = None
    branch: str = ""
    metrics: dict[str, Any] = field(default_factory=dict)

    @property
    def candidate(self) -> Candidate:
        status = self.status if self.score is None else Status.OK
        features = None if self.score is None else self.features
        evaluation = Evaluation(
            status, self.score, features, self.metrics, self.message, wall_s=self.wall_s, cpu_s=self.wall_s / 2
        )
        fingerprint = hashlib.sha256(self.source.encode()).hexdigest()
        return Candidate(
            source=self.source,
            fingerprint=fingerprint,
            parents=self.parents,
            origin=self.origin,
            island=self.island,
            call=self.call,
            branch=self.branch,
            evaluation=evaluation,
        )


def describe(
    folder: Path, direction: str = "minimize", features: Sequence[dict[str, Any]] = FEATURES, **more: Any
) -> None:
    """Write ``config.yaml``; ``more`` goes into the problem's part."""
    problem = {
        "name": "tsp_aco", "folder": "/project/problems/tsp_aco", "title": "Ants on the travelling salesman problem",
        "direction": direction, "function": "heuristics", "features": list(features),
        "published": {"seed": "6.94 to 6.95", "best": 5.981},
    }  # fmt: skip
    config = {
        "seed": 0, "workers": 2, "budget": {"evaluations": 200}, "strategy": {"name": "gp"},
        "archive": {"islands": 2, "population": 5}, "model": None,
    }  # fmt: skip
    tree = {"oragent": "0.1.0", "root": "/project", "problem": problem | more, "config": config}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.yaml").write_text(yaml.safe_dump(tree, sort_keys=False, allow_unicode=True), encoding="utf-8")


def write(
    folder: Path, rounds: Sequence[Sequence[Made]], *, direction: str = "minimize", end: str | None = None
) -> None:
    """Write ``run.db`` as the engine would: round 0 is the seed heuristic, each round ends 10 s after the one before."""
    archive = Archive(direction, 2, 5)
    with Store(folder / "run.db") as store:
        for number, candidates in enumerate(rounds):
            placed, elapsed_s = [], 10.0 * (number + 1)
            for position, made in enumerate(candidates):
                candidate = made.candidate
                known = store.evaluation(candidate.fingerprint)  # equal programs are scored once
                if known is None:
                    store.keep_evaluation(candidate.fingerprint, candidate.evaluation, elapsed_s)
                candidate = replace(candidate, evaluation=known or candidate.evaluation)
                placed.append((candidate, _place(archive, f"{number}.{position}", candidate, number == 0)))
            store.commit(number, placed, Spent(len(candidates)), elapsed_s)
        if end is not None:
            store.note("end", end)


def reply(store: Store, number: int, call: int | str = 0, **given: Any) -> None:
    """Add a model's reply."""
    values = {"role": "mutate", "prompt": "[]", "text": "```python\n```", "model": "gpt-4.1-mini", "tokens_in": 1000}
    values |= {"tokens_out": 200, "money": 0.01, "seconds": 3.0, "retries": 0} | given
    store.replies.store_reply(RecordedReply(key=f"{number}.{call}", **values), f"{number}.{call}")


def _place(archive: Archive, name: str, candidate: Candidate, everywhere: bool) -> str:
    found = candidate.evaluation
    if found.score is None or candidate.is_probe:
        return ""
    elite = Elite(id=name, source=candidate.source, score=found.score, features=found.features, metrics={})
    return max(archive.add(elite, island) for island in ([0, 1] if everywhere else [candidate.island])).name


def searched(count: int = 60, *, direction: str = "minimize", features: bool = True, seed: int = 1) -> list[list[Made]]:
    """A lifelike run: children of random parents, mostly worse, sometimes better, sometimes broken, once hopeless."""
    rng = np.random.default_rng(seed)
    sign = 1.0 if direction == "minimize" else -1.0
    rounds = [[Made(SEED, 6.94, (1, 2) if features else None, (), "seed")]]
    good = [("0.0", SEED, 6.94)]
    for number in range(1, count):
        parent, source, score = good[int(rng.integers(max(0, len(good) - 6), len(good)))]
        origin = str(rng.choice(["jitter", "swap operator", "graft", "insert statement"]))
        child = source.replace("return", f"distances = distances ** {1 + rng.integers(1, 99) / 1000}\n    return")
        cell = (int(rng.integers(4)), int(rng.integers(3))) if features else None
        made = Made(child, round(score + sign * rng.normal(0.03, 0.08), 4), cell, (parent,), origin, number % 2)
        if number == 17:
            made = Made(child, score + sign * 40, cell, (parent,), origin, number % 2)
        elif number % 7 == 3:
            made = _broken(made, number)
        elif made.score is not None and sign * (made.score - score) < 0:
            good.append((f"{number}.0", child, made.score))
        rounds.append([made])
    return rounds


def _broken(made: Made, number: int) -> Made:
    kinds = [
        (Status.ERROR, "ZeroDivisionError: float division by zero"), (Status.TIMEOUT, "no result within 60 s"),
        (Status.INVALID, "heuristics must return a (50, 50) matrix, not (50,)"), (Status.ERROR, "NameError: name 'd'"),
    ]  # fmt: skip
    status, message = kinds[number // 7 % len(kinds)]
    return Made(made.source, None, None, made.parents, made.origin, made.island, status, message)


def data_of(page: str) -> dict[str, Any]:
    """The data inside a page."""
    return json.loads(page.split('id="data">')[1].split("</script>")[0])


def without_scripts(page: str) -> str:
    """What a page shows where JavaScript is off."""
    return page.split("<noscript>")[1].split("</noscript>")[0]
