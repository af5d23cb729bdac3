"""Programs that were tried, and which of them is kept."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from oragent.formulate.checks import Checked, CheckStatus
from oragent.formulate.running import ExecutionResult
from oragent.milp.solution import SolveStatus, SolveVerdict


@dataclass(frozen=True)
class FormulationAttempt:
    """A program, what it came to, and what the checks say of it.

    Attributes:
        number: Counted from 0.
        origin: Module that wrote it.
        source: Its text; empty where a reply had none.
        ran: What running it came to.
        checked: What a check said; None before one.
        gap: Relative gap within which a point that is not proven optimal is an answer.
    """

    number: int
    origin: str
    source: str
    ran: ExecutionResult
    checked: Checked | None = None
    gap: float = 0.0

    @property
    def has_failed(self) -> bool:
        """Return True if no model was solved."""
        return self.ran.verdict is not None

    @property
    def is_refused(self) -> bool:
        """Return True if the problem has no exact linear model, as the program or the formalization says."""
        return self.ran.verdict is SolveVerdict.UNSUPPORTED

    @property
    def error(self) -> str:
        """Failure with its line, as a model is told."""
        parts = [f"{self.ran.verdict}: {self.ran.message}", self.ran.traceback.strip()]
        return "\n".join(part for part in parts if part)

    @property
    def is_answer(self) -> bool:
        """Return True for an optimum within the gap, or another end that the checks confirm."""
        status = self.ran.status
        if status in (SolveStatus.INFEASIBLE, SolveStatus.UNBOUNDED):
            return self.checked is not None and self.checked.confirmed
        solution = self.ran.solution
        near = solution is not None and solution.gap is not None and solution.gap <= self.gap
        return status is SolveStatus.OPTIMAL or (status is SolveStatus.FEASIBLE and near)

    @property
    def rank(self) -> tuple[int, int, int]:
        """Order of attempts: proven status first, then the result of the checks."""
        proven = {SolveStatus.OPTIMAL: 3, SolveStatus.FEASIBLE: 2, SolveStatus.INFEASIBLE: 1, SolveStatus.UNBOUNDED: 1}
        status = self.ran.status
        level = 3 if self.is_answer else (proven.get(status, 0) if status else 0 if self.is_refused else -1)
        if self.checked is None or self.checked.state is CheckStatus.UNCHECKED:
            return level, -1, 0
        return level, int(self.checked.state is CheckStatus.PASSED), -len(self.checked.findings)

    def with_check(self, checked: Checked) -> "FormulationAttempt":
        """Return the attempt with the result of a check."""
        return replace(self, checked=checked)


def best_attempt(attempts: Sequence[FormulationAttempt]) -> FormulationAttempt:
    """Return the best attempt; of equally good ones the earliest, so that a revision has to be better.

    Without any attempt there is nothing to keep: at least one is expected.
    """
    return max(attempts, key=lambda attempt: (*attempt.rank, -attempt.number))


def empty_attempt(
    origin: str, number: int, problem: str, verdict: SolveVerdict = SolveVerdict.COMPILE_ERROR
) -> FormulationAttempt:
    """Return an attempt without a program."""
    return FormulationAttempt(number, origin, "", ExecutionResult(verdict, problem))
