"""Names of the parts of a benchmark, in tables, figures, messages and the keys of its manifest."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class BenchTerms:
    """The words of one kind of benchmark.

    Attributes:
        benchmark: The whole, such as "comparison".
        subject, subjects: What is measured on, such as "problem".
        contestant, contestants: Who is measured, such as "strategy".
        modes: Kinds of score by name, and what each is in words; contestants are ranked by the first.
        baseline: Whose score is 0 when scores are normalised, such as "seed heuristic".
        answer: What a run ends with and is scored by, such as "program".
        work: Unit in which the work of a run is counted, such as "evaluations".
        noise: What one score is a mean over, such as "instances".
    """

    benchmark: str
    subject: str
    subjects: str
    contestant: str
    contestants: str
    modes: Mapping[str, str]
    baseline: str = "baseline"
    answer: str = "answer"
    work: str = "evaluations"
    noise: str = "instances"

    @property
    def main(self) -> str:
        """Name of the mode by which contestants are ranked."""
        return next(iter(self.modes))
