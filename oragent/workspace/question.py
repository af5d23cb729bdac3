"""A question about one version of a workspace: the parts that it names, the amount, and what is unclear."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from oragent._base.table_dialects import GROUPED_IN_TEXT, STRONG_COMMA, plain_number
from oragent.milp.model import Milp, Row
from oragent.milp.plain import number, plain
from oragent.milp.questions import INSTEAD, NUMBERS, TO, Amount, read_amount, remove_name, spell_counts
from oragent.milp.solution import SolveStatus
from oragent.workspace import explaining
from oragent.workspace.facts import VersionFacts, WorkspaceFacts
from oragent.workspace.objective import StopReason, describe_change, find_change_span, is_within_gap
from oragent.workspace.reading import shorten
from oragent.workspace.runner import ProgramRun, ProgramRunner, SolvedModel
from oragent.workspace.vocabulary import (
    NEAR,
    DataCell,
    NamedGroup,
    NamedKind,
    NamedPart,
    UnknownSheetError,
    find_parts,
    list_groups,
)

STRONG_COMMA_IN_TEXT = re.compile(rf"(?<![\w.,]){STRONG_COMMA.pattern}(?!\w|[.,]\d)")
# decisions, rows or readings in one answer
MOST_LISTED = 12
EXAMPLES = (
    "ask such as 'how many NAME', 'what limits NAME', 'what is one more NAME worth', 'what if NAME were 12', "
    "'why not more NAME', 'what changed since version 3'"
)
PRICE_WORDS = re.compile(r"\b(?:shadow prices?|dual (?:prices?|values?)|marginal (?:prices?|values?|costs?))\b", re.I)


class UnclearQuestionError(Exception):
    """A question has several readings, or none; the text asks back."""


@dataclass(frozen=True)
class WorkspaceQuestion:
    """A question about one version, whose program ran just now, with the facts of the whole workspace."""

    version: VersionFacts
    question: str
    runner: ProgramRunner
    facts: WorkspaceFacts

    @cached_property
    def groups(self) -> list[NamedGroup]:
        """Everything that a question can name."""
        return list_groups(self.version)

    @cached_property
    def parts(self) -> list[NamedPart]:
        """Parts that the question names, the best fit first."""
        try:
            return find_parts(PRICE_WORDS.sub(" ", self.question), self.groups)
        except UnknownSheetError as unknown:
            raise UnclearQuestionError(str(unknown)) from None

    @property
    def has_point(self) -> bool:
        """Return True if the model has a plan."""
        return bool(self.version.solution and self.version.solution.status.has_point)

    @property
    def milp(self) -> Milp:
        """The model of the version."""
        assert self.version.milp is not None
        return self.version.milp

    @property
    def plan_values(self) -> Mapping[str, float]:
        """Value of each decision in the plan."""
        assert self.version.solution is not None
        return self.version.solution.values

    @property
    def tight_rows(self) -> list[Row]:
        """Binding rows; of a linear model those with the largest duals first."""
        solution = self.version.solution
        rows = [row for row in self.milp.rows if solution and solution.is_tight(row)]
        duals: Mapping[str, float] = solution.duals if solution and not self.milp.has_integers else {}
        return sorted(rows, key=lambda row: -abs(duals.get(row.name, 0.0)))

    def amount_of(self, part: NamedPart | None = None) -> Amount | None:
        """Read the amount of the question, without the digits in the name of a part."""
        return read_amount(self._amount_text(part))

    def only_amount(self, part: NamedPart) -> Amount | None:
        """Read the one amount of the question."""
        text = self._amount_text(part)
        figures = NUMBERS.findall(INSTEAD.sub(" ", spell_counts(text)))
        if len(figures) > 1 and not TO.search(text):
            several = f"The question names several figures ({', '.join(figures)})"
            raise UnclearQuestionError(f"{several}: write the new value after 'to'.")
        unclear = next((figure for figure in GROUPED_IN_TEXT.findall(text) if figure.endswith("0")), None)
        if unclear is not None:
            whole = unclear.replace(".", "")
            raise UnclearQuestionError(f"{unclear} can be read in two ways: write {whole}, or {float(unclear):g}.")
        return read_amount(text)

    def _amount_text(self, part: NamedPart | None) -> str:
        """Return the question without the names of a part.

        Where a table has decimal commas, points of the question separate thousands, too.
        """
        text = STRONG_COMMA_IN_TEXT.sub(lambda match: plain_number(match[0], ","), self.question)
        for words in (*part.words, part.group.sheet) if part else ():
            text = _remove_label(text, words)
        cells = (cell for group in self.groups for cell in group.entries.values())
        if any(isinstance(cell, DataCell) and cell.has_commas for cell in cells):
            text = GROUPED_IN_TEXT.sub(lambda match: match[0].replace(".", ""), text)
        return text

    def best_parts(self, *kinds: NamedKind) -> list[NamedPart]:
        """The parts that fit best, of the first kind that fits as well as any other."""
        usable = [part for part in self.parts if part.group.kind in kinds]
        near = [part for part in usable if part.score >= usable[0].score - NEAR]
        for kind in kinds:
            chosen = [part for part in near if part.group.kind is kind]
            if chosen:
                return [part for part in chosen if part.score >= chosen[0].score - 1e-9]
        return []

    def only_part(self, *kinds: NamedKind) -> NamedPart:
        """Return the one part that the question names."""
        parts = self.best_parts(*kinds)
        if not parts:
            raise self.unknown_names()
        if len(parts) > 1:
            raise self.ask_back([part.label for part in parts])
        return parts[0]

    def unknown_names(self) -> UnclearQuestionError:
        """Make the error that lists the names of the workspace."""
        names = ", ".join(f"`{plain(group.name, 40)}`" for group in self.groups[: 2 * MOST_LISTED])
        return UnclearQuestionError(f"The question names no part of this workspace. It has {names}; {EXAMPLES}.")

    def ask_back(self, readings: list[str], what: str = "Which do you mean") -> UnclearQuestionError:
        """Make the error that lists the readings of a question."""
        if len(readings) > MOST_LISTED:
            more = f" (and {len(readings) - MOST_LISTED} more)"
        else:
            more = ""
        listed = "".join(f"\n- {plain(reading, 160)}" for reading in readings[:MOST_LISTED])
        return UnclearQuestionError(f"{what}?{more} Ask again with one of these names:{listed}")

    def headline(self) -> str:
        """Write the objective, with its record."""
        every = explaining.list_statements(self.facts, self.runner)
        first = next((statement for statement in every if statement.topic == "objective"), None)
        solution = self.version.solution
        return str(first or f"The model is {solution.standing if solution else 'not solved'}.")

    def describe_objective(self, model: SolvedModel | None, ran: ProgramRun | None = None) -> str:
        """Write the objective of another run, and its difference from the plan."""
        if ran is not None and not ran.is_cut_with_plan and (ran.stop is not StopReason.ENDED or model is None):
            return f"the program fails on these data: {shorten(last_line(ran), 200)}"
        old, new = self.version.solution, model.solution if model else None
        if new is None or new.objective is None:
            return f"the model is {new.standing if new else 'not solved'}"
        if old is None or old.objective is None:
            return f"objective {number(new.objective)} ({new.standing})"
        if new.standing == "optimal":
            note = ""
        else:
            note = f" ({new.standing})"
        if is_within_gap(old, new):
            separator = ": "
        elif find_change_span(old, new):
            separator = "; "
        else:
            separator = ", "
        return f"objective {number(new.objective)}{note}{separator}{describe_change(old, new)}"

    def state_unproven(self) -> Iterator[str]:
        """Say that the plan is not proven optimal, where it is not."""
        solution = self.version.solution
        if solution is not None and solution.status is SolveStatus.FEASIBLE:
            yield f"Of a plan that is not proven optimal ({solution.standing}); a better one may have other values."

    def write_objective(self, model: SolvedModel | None) -> str:
        """Write the objective of a model, or why it has none."""
        if model is None or model.solution is None:
            return "none"
        if model.solution.status is SolveStatus.OPTIMAL:
            note = ""
        else:
            note = f" ({model.solution.standing})"
        return f"{'none' if model.objective is None else number(model.objective)}{note}"


def _remove_label(text: str, name: str) -> str:
    """Return a text without a name; a number, such as of a week, is removed once, and not where it is an amount."""
    if not name.strip().isdecimal():
        return remove_name(text, name)
    return re.sub(rf"(?<![\w.,])(?<!\bby ){name.strip()}(?!\w|[.,]\d|\s*(?:%|percent))", " ", text, count=1)


def last_line(ran: ProgramRun) -> str:
    """Return the last line that a program printed, errors first."""
    lines = (ran.stderr or ran.stdout).strip().splitlines()
    return ran.reason or (lines[-1] if lines else "")
