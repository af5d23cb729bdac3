"""Journal of a run: findings of unfinished rounds, and the length of the journal at each prompt.

Rounds and their branches overlap, so prompts built only from committed candidates would show an outdated best program.
The journal stores every finding immediately, and a prompt shows all findings up to its moment. The moment is recorded
with the name of the call, so that a resumed or replayed run builds the same prompt.
"""

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from oragent._base.budget import Spent
from oragent._base.errors import StoreError
from oragent._base.safe_load import parse_json
from oragent.search.candidate import Candidate, Elite
from oragent.search.store import MAX_JSON, JournalRow, RoundNote, Store, restore_evaluation

# Kinds of rows.
PROGRAM, NOTE, REJECTED = "program", "note", "rejected"
# Stored fields of a program.
OF_EVALUATION = ("score", "features", "metrics", "message")
OF_CANDIDATE = ("source", "fingerprint", "origin", "island")
# Suffix of metrics that are times.
TIMES = "seconds"


@dataclass(frozen=True)
class Finding:
    """Program that an unfinished round evaluated."""

    # Number of the round.
    round: int
    # Name of the finding in the journal.
    place: str
    # Program with its evaluation, without its output.
    candidate: Candidate

    @property
    def elite(self) -> Elite | None:
        """Elite with its fingerprint as id; None without a score."""
        if self.candidate.score is None:
            return None
        return Elite.of(self.candidate)


@dataclass(frozen=True)
class Moment:
    """State of a run at the moment of a call."""

    # Findings of rounds that were not committed when the asking round began, in order of time.
    findings: tuple[Finding, ...] = ()
    # Notes of these rounds, in order of time.
    notes: tuple[RoundNote, ...] = ()
    # Evaluations and model calls of the run up to the moment.
    spent: Spent = field(default_factory=Spent)


class Journal:
    """Findings of all rounds in order of time, and the moments of prompts."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._rows = store.journal()
        self._texts = {row.place: row.text for row in self._rows}
        try:
            self._read: list[Finding | RoundNote | str] = [_read_row(row) for row in self._rows]
        except (AttributeError, KeyError, RecursionError, TypeError, ValueError):
            raise StoreError(f"{store.path}: the journal in it is damaged; start a new run") from None
        self._moments = store.moments()
        self._latest: tuple[str, int, Moment] | None = None

    def add_program(self, label: str, number: int, candidate: Candidate) -> None:
        """Store a program, unless it is stored already, as in a resumed run."""
        values: dict[str, Any] = {"status": str(candidate.evaluation.status)}
        values |= {name: getattr(candidate.evaluation, name) for name in OF_EVALUATION}
        values |= {name: getattr(candidate, name) for name in OF_CANDIDATE}
        self._append(label, number, PROGRAM, json.dumps(values, default=repr))

    def add_note(self, label: str, note: RoundNote) -> None:
        """Store a note of an unfinished round."""
        self._append(label, note.round, NOTE, json.dumps(asdict(note)))

    def reject_program(self, number: int, fingerprint: str) -> None:
        """Record that a program failed its check."""
        self._append(f"{REJECTED} {fingerprint}", number, REJECTED, fingerprint)

    def _append(self, label: str, number: int, kind: str, text: str) -> None:
        if self._texts.get(label) == text:
            return
        row = JournalRow(len(self._rows), label, number, kind, text)
        self._store.add_to_journal(row)
        self._texts[label] = text
        self._rows.append(row)
        self._read.append(_read_row(row))

    def moment(self, name: str, horizon: int, spent: Spent) -> Moment:
        """Return the state at the moment of a call. If a moment is recorded for the call, use it."""
        if name not in self._moments:
            self._moments[name] = (len(self._rows), spent.evaluations, spent.model_calls)
            self._store.add_moment(name, self._moments[name])
        if self._latest is None or self._latest[:2] != (name, horizon):
            self._latest = name, horizon, self._moment_at(*self._moments[name], horizon)
        return self._latest[2]

    def _moment_at(self, size: int, evaluations: int, calls: int, horizon: int) -> Moment:
        rejected = {entry for entry in self._read[:size] if isinstance(entry, str)}
        programs: dict[str, Finding] = {}
        notes = []
        for entry in self._read[:size]:
            if isinstance(entry, str) or entry.round <= horizon:
                continue
            if isinstance(entry, RoundNote):
                notes.append(entry)
            elif entry.candidate.fingerprint not in rejected:
                programs[entry.place] = entry
        return Moment(tuple(programs.values()), tuple(notes), Spent(evaluations=evaluations, model_calls=calls))


def _read_row(row: JournalRow) -> Finding | RoundNote | str:
    if row.kind == REJECTED:
        return row.text
    values = parse_json(row.text, MAX_JSON)
    if row.kind == NOTE:
        return RoundNote(**values)
    evaluation = restore_evaluation({name: values[name] for name in ("status", *OF_EVALUATION)})
    created = {name: values[name] for name in OF_CANDIDATE}
    return Finding(row.round, row.place, Candidate(**created, parents=(), call=None, evaluation=evaluation))
