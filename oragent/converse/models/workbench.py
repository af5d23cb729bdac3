"""A model in a conversation: operations per message, undo of whole messages, named scenarios."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from oragent._base.errors import ModellingError
from oragent.converse.models.message_record import MessageRecord
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.solution import SolveStatus
from oragent.modelling.operations import requests as ops
from oragent.modelling.operations.outcomes import SolveLimits
from oragent.modelling.operations.rendering import render
from oragent.modelling.operations.results import AnyResult, RepairResult, StateResult
from oragent.modelling.operations.session import CHANGES, ModelSession
from oragent.modelling.operations.state import Changes, lines_of
from oragent.modelling.operations.syntax import parse_line

# Maximum number of states for undo; the oldest are removed first.
MAX_UNDO = 1000


@dataclass(frozen=True)
class WorkbenchState:
    """State that a message can change."""

    changes: Changes = ()
    scenarios: tuple[tuple[str, Changes], ...] = ()

    @property
    def lines(self) -> tuple[str, ...]:
        """Return the current changes as lines."""
        return tuple(lines_of(self.changes))


class Workbench:
    """A session of operations in which ``undo`` applies to whole messages.

    Questions do not change the state. After ``repair``, ``keep`` applies the least repair.
    """

    def __init__(self, model: IndexedModel, limits: SolveLimits | None = None, folder: Path | None = None) -> None:
        self.session = ModelSession(model, limits, folder=folder)
        self._earlier: list[WorkbenchState] = []
        self._begun = self.state
        # Number of messages that the current message undid.
        self.undone = 0

    @property
    def results(self) -> Mapping[str, AnyResult]:
        """All results by id."""
        return self.session.results

    @property
    def model(self) -> IndexedModel:
        """Model with the current changes."""
        return self.session.model

    @property
    def state(self) -> WorkbenchState:
        """Current changes and named scenarios."""
        study = self.session.study
        return WorkbenchState(study.changes, tuple(study.scenarios.items()))

    @contextmanager
    def message(self) -> Iterator[None]:
        """Run the lines of one message; an error reverts all changes of the message."""
        self._begun, self.undone = self.state, 0
        begun, trial, results = self._begun, self.session.study.trial, dict(self.session.results)
        earlier = list(self._earlier)
        try:
            yield
        except BaseException:
            self._restore(begun)
            self._earlier, self.undone = earlier, 0
            self.session.study.trial, self.session.results = trial, results
            raise
        if self.state != self._begun:
            self._earlier = [*self._earlier, self._begun][-MAX_UNDO:]

    def ask(self, line: str) -> AnyResult:
        """Run one line.

        Raises:
            ModellingError: The line is invalid or cannot be run; it changed nothing.
        """
        request = parse_line(line)
        if isinstance(request, ops.UndoRequest):
            return self._record(request, self._undo(request.count))
        result = self.session.ask(request)
        if isinstance(result, RepairResult):
            self._offer_repair(result)
        return result

    def keep_trial(self) -> None:
        """Apply the last trial, without a separate result."""
        study = self.session.study
        if study.trial is not None:
            study.changes, study.trial = study.trial, None

    def resume(self, record: MessageRecord) -> None:
        """Restore the state after a recorded message.

        Raises:
            ModellingError: The record has a line that is not a change.
        """
        self.session.results.update({result.id: result for result in record.results})
        previous = self.state
        if record.undone:
            previous = self._earlier[-record.undone]
            del self._earlier[-record.undone :]
        scenarios = tuple((name, read_changes(lines)) for name, lines in record.scenarios.items())
        self._restore(WorkbenchState(read_changes(record.changes), scenarios))
        if self.state != previous:
            self._earlier.append(previous)
        self.session.study.trial = None if record.trial is None else read_changes(record.trial)

    def _undo(self, count: int) -> StateResult:
        if self.state != self._begun:
            # Undo first reverts the changes of the current message.
            self._restore(self._begun)
            count -= 1
        if count > len(self._earlier):
            messages = len(self._earlier)
            raise ModellingError(
                f"undo {count}: only {messages} messages changed the state; expected at most {messages}"
                if messages
                else "nothing to undo: no message changed the state"
            )
        if count:
            self._restore(self._earlier[-count])
            del self._earlier[-count:]
            self.undone += count
            self._begun = self.state
        return self._describe_state()

    def _describe_state(self) -> StateResult:
        study = self.session.study
        return StateResult(scenario=study.label(study.changes), changes=lines_of(study.changes))

    def _record(self, request: ops.AnyRequest, result: StateResult) -> StateResult:
        key = f"r{len(self.session.results) + 1}"
        recorded = result.model_copy(update={"id": key, "line": render(request), "request": request})
        self.session.results[key] = recorded
        return recorded

    def _restore(self, state: WorkbenchState) -> None:
        study = self.session.study
        study.changes, study.scenarios, study.trial = state.changes, dict(state.scenarios), None

    def _offer_repair(self, result: RepairResult) -> None:
        study = self.session.study
        is_present = study.solve(study.present).status is SolveStatus.INFEASIBLE
        repaired = study.changes if is_present or study.trial is None else study.trial
        study.trial = (*repaired, *read_changes(change.line for change in result.changes))


def read_changes(lines: Iterable[str]) -> Changes:
    """Read lines of changes.

    Raises:
        ModellingError: A line is not a change.
    """
    changes: list[ops.AnyChange] = []
    for line in lines:
        request = parse_line(line)
        if not isinstance(request, CHANGES):
            raise ModellingError(f"expected a change, not {line[:80]!r}")
        changes.append(request)
    return tuple(changes)
