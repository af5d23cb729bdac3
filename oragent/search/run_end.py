"""End of a run: a limit of its budget, a stop, a model that does not answer, or no new programs."""

from collections.abc import Sequence

from oragent._base.budget import Budget, Spent
from oragent._base.errors import ModelError, ModelTimeout
from oragent._base.protocol import Status
from oragent.search.candidate import Candidate
from oragent.search.checks import IDLE

# Number of consecutive unusable answers after which the model counts as failed. Each was sent back once. If a fifth of
# the replies lack code, this happens once in ten million answers.
DEAD = 5
# Marks of code in a reply.
CODE_MARKS = ("```", "~~~", "<<<<<<<")


def holds_code(text: str, function: str) -> bool:
    """Return True if a reply may contain a program or edits: a fence, a mark of an edit, or the function's name."""
    return any(mark in text for mark in (*CODE_MARKS, f"{function}("))


class RunEnd:
    """Detector of the end of a run. The first reason counts."""

    def __init__(self, patience: int) -> None:
        # Number of consecutive rounds without a new program after which a run ends.
        self._patience = patience
        self._end: tuple[str, bool] | None = None
        self._idle_rounds = 0
        # Message of the latest round's first rejected candidate.
        self._rejection = ""
        # Number of consecutive unusable answers, and the reason why the latest is unusable.
        self._unusable_answers = 0
        self._problem = ""

    @property
    def has_come(self) -> bool:
        """True if the run starts nothing new."""
        return self._end is not None

    @property
    def reason(self) -> str:
        """Reason for the end, one line; "ended" if none was given."""
        if self._end is None:
            return "ended"
        return self._end[0]

    @property
    def is_complete(self) -> bool:
        """True if the budget was used up; False after a stop, a model failure or a lack of new programs."""
        return self._end is not None and self._end[1]

    def stop(self, reason: str) -> None:
        """End the run before its budget is used up. If it has a reason already, that stays."""
        self._end = self._end or (reason, False)

    def finish(self, reason: str) -> None:
        """End the run because its strategy has finished. If it has a reason already, that stays."""
        self._end = self._end or (reason, True)

    def stop_for_model(self, problem: ModelError) -> None:
        """End the run because its model is unusable. After a time-out of the client, the run can be resumed."""
        if isinstance(problem, ModelTimeout):
            self.stop(f"paused: {problem}")
        else:
            self.stop(str(problem))

    def count_answers(self, problems: Sequence[str]) -> None:
        """Count the answers of a model. ``problems`` has the reason why each is unusable, in order, or an empty text.

        Answers in replayed rounds of a resumed run are not counted, because the user may have fixed the model.
        """
        for problem in problems:
            self._problem = problem
            if problem:
                self._unusable_answers += 1
            else:
                self._unusable_answers = 0

    def count_round(self, evaluations: int, candidates: Sequence[Candidate], *, may_idle: bool) -> None:
        """Count a round for the check for new programs.

        Args:
            evaluations: Number of programs that the round scored for the first time.
            candidates: Candidates of the round, in order.
            may_idle: True if a round without evaluations was expected.
        """
        rejected = (
            candidate.evaluation.message for candidate in candidates if candidate.evaluation.status is Status.REJECTED
        )
        self._rejection = next(rejected, "")
        if evaluations:
            self._idle_rounds = 0
        elif not may_idle:
            self._idle_rounds += 1

    def check(self, budget: Budget, spent: Spent) -> None:
        """End the run if a limit of the budget is reached, the model fails, or no new programs are found."""
        exceeded = budget.name_reached_bound(spent)
        if exceeded:
            self._end = self._end or (exceeded, True)
        elif self._unusable_answers >= DEAD:
            answers = f"the last {self._unusable_answers} replies of the model held no program, nor did their repairs"
            self.stop(f"{answers}; the latest: {self._problem.partition(chr(10))[0]}")
        elif self._idle_rounds >= self._patience:
            why = f"; the latest was rejected: {self._rejection}" if self._rejection else ""
            self.stop(f"{IDLE} in {self._idle_rounds} rounds{why}")
