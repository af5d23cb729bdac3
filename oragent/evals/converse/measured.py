"""What was measured so far of an evaluation, a contestant at a time."""

from dataclasses import dataclass, field, replace

from oragent.evals.bench.cases import MeasuredCases
from oragent.evals.converse.benchmark import ConverseBenchmark, score_case
from oragent.evals.converse.evaluable_problems import published_of
from oragent.evals.converse.published import Published
from oragent.evals.converse.scoring import Scored


@dataclass(frozen=True)
class MeasuredContestant(MeasuredCases):
    """A contestant and its conversations.

    Attributes:
        published: Figures in print of the same problem.
    """

    published: Published = field(default_factory=Published)

    @property
    def name(self) -> str:
        """Name of the contestant."""
        return self.contestant

    @property
    def agent(self) -> str:
        """Name of its agent; empty for none."""
        return str(self.settings["agent"])

    @property
    def model(self) -> str:
        """Name of its model; empty for none."""
        return str(self.settings["model"])

    @property
    def paradigm(self) -> str:
        """Name of its paradigm."""
        return str(self.settings["paradigm"])

    @property
    def scored(self) -> list[Scored]:
        """The conversations as scores are summed up."""
        return [score_case(self.settings, case.result) for case in self.cases]

    @property
    def plain(self) -> bool:
        """True if it is as published: no other tools, no part left out."""
        return self.settings["tools"] == "paper" and not self.settings["without"]


def measure_contestants(bench: ConverseBenchmark) -> list[MeasuredContestant]:
    """Collect the finished conversations, one item per contestant."""
    (contestants,) = bench.measure(bench.folder, MeasuredContestant).values()
    published = published_of(bench.problem)
    return [replace(contestant, published=published) for contestant in contestants]
