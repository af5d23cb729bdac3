"""What was measured so far of an evaluation, a contestant at a time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from oragent.evals.bench.plan import BenchCell
from oragent.evals.converse.benchmark import ConverseBenchmark, score_case
from oragent.evals.converse.evaluable_problems import published_of
from oragent.evals.converse.published import Published
from oragent.evals.converse.scoring import Scored
from oragent.ledger.study import FinishedCase


@dataclass(frozen=True)
class MeasuredContestant:
    """A contestant and what is done of it.

    Attributes:
        name: Name of the contestant.
        own: Settings of its own.
        done: Conversations that were held.
        total: Number of conversations in all.
        published: Figures in print of the same problem.
    """

    name: str
    own: Mapping[str, Any]
    done: Sequence[FinishedCase]
    total: int
    published: Published

    @property
    def cases(self) -> list[Scored]:
        """The conversations as scores are summed up."""
        return [score_case(self.own, case.result) for case in self.done]

    @property
    def plain(self) -> bool:
        """True if it is as published: no other tools, no part left out."""
        return self.own["tools"] == "paper" and not self.own["without"]


def measure_contestants(bench: ConverseBenchmark) -> list[MeasuredContestant]:
    """Collect the finished conversations, one item per contestant."""
    contestants = []
    for name, settings in bench.plan.contestants.items():
        cells = [BenchCell(subject, name, seed) for subject in bench.plan.subjects for seed in bench.plan.seeds]
        finished = [case for cell in cells for case in bench.finished_cases(cell, bench.folder)]
        total = sum(len(bench.case_names(cell)) for cell in cells)
        contestants.append(MeasuredContestant(name, settings, finished, total, published_of(bench.problem)))
    return contestants
