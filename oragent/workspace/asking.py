"""Exact questions to a workspace, answered without a language model.

A question is one of ``FORMS`` and nothing else; every figure comes from a run of the program or a solve of its model.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum

from oragent._base.errors import WorkspaceError
from oragent._base.text_format import join_some, one_line
from oragent.milp.decisions import fold_family, group_families, layout_families, print_tables
from oragent.milp.model import Milp, Row, Variable
from oragent.milp.plain import amount as write_amount
from oragent.milp.plain import number, plain, rounded
from oragent.milp.solution import Solution, SolveStatus
from oragent.workspace import explaining
from oragent.workspace.facts import VersionFacts, WorkspaceFacts
from oragent.workspace.objective import describe_change
from oragent.workspace.reading import shorten
from oragent.workspace.records import describe_conflict
from oragent.workspace.runner import ProgramRunner, SolvedModel
from oragent.workspace.table_labels import list_table_labels
from oragent.workspace.tools import describe_run

# of tables in an answer
WIDTH, MOST_LINES = 100, 60
# rows in one answer
MOST_LISTED = 12
MOST_NAMED = 8
LONGEST = 80
VERSION = re.compile(r"[1-9]\d{0,8}")


class AskKind(StrEnum):
    """Kind of an exact question."""

    OVERVIEW = "overview"
    PLAN = "plan"
    VALUE = "value"
    BINDING = "binding"
    SLACK = "slack"
    PRICES = "prices"
    PRICE = "price"
    INFEASIBLE = "infeasible"
    CHANGES = "changes"


FORMS: Mapping[str, str] = {
    "overview": "all that is known, with sources",
    "plan": "objective and decisions",
    "value NAME": "a decision, or what a row comes to",
    "binding": "rows whose limit is reached",
    "slack": "rows with room",
    "prices": "objective with one unit more and one less of each binding row",
    "price ROW": "the same for one row",
    "infeasible": "rows and bounds that cannot hold together",
    "changes [N [M]]": "the last change; version N against the present files, or against version M",
}


@dataclass(frozen=True)
class ExactQuestion:
    """Exact question to a workspace."""

    kind: AskKind
    # exact name of a decision or row; empty for kinds without one
    name: str = ""
    # numbers of the versions that are compared, at most two
    versions: tuple[int, ...] = ()


def read_question(text: str) -> ExactQuestion:
    """Read an exact question.

    Raises:
        WorkspaceError: The text is none; the line names the nearest form and lists all.
    """
    word, _, rest = text.strip().partition(" ")
    rest = rest.strip()
    if word in (AskKind.VALUE, AskKind.PRICE):
        if rest:
            return ExactQuestion(AskKind(word), rest)
    elif word == AskKind.CHANGES:
        numbers = rest.split()
        if len(numbers) <= 2 and all(map(VERSION.fullmatch, numbers)):
            return ExactQuestion(AskKind.CHANGES, versions=tuple(map(int, numbers)))
    elif word in list(AskKind) and not rest:
        return ExactQuestion(AskKind(word))
    names = {form.partition(" ")[0]: form for form in FORMS}
    near = get_close_matches(word.casefold(), names, n=1, cutoff=0.0)[0]
    raise WorkspaceError(
        f"{one_line(text.strip(), LONGEST)!r} is no exact question; the nearest is '{names[near]}' (all: "
        f"{', '.join(FORMS)}); add --model NAME to ask in your own words"
    )


def answer_question(facts: WorkspaceFacts, question: ExactQuestion, runner: ProgramRunner) -> str:
    """Answer an exact question about the present version in Markdown."""
    if question.kind is AskKind.OVERVIEW:
        return explaining.answer_question(facts, "", runner)
    version = facts.revised
    if not version.program:
        return "There is no program yet; 'oragent workspace build' makes one.\n"
    solution = version.solution
    if question.kind is AskKind.INFEASIBLE or solution is None or not solution.status.has_point:
        return "\n".join(_explain_infeasible(version, runner)) + "\n"
    assert version.milp is not None
    lines = list(PlanAnswers(version, version.milp, solution, runner).answer(question))
    if question.kind is AskKind.PLAN:
        lines = [*map(str, explaining.state_objectives(facts)), *lines]
    return "\n".join(lines) + "\n"


def _explain_infeasible(version: VersionFacts, runner: ProgramRunner) -> Iterator[str]:
    model = version.model
    if model is not None and model.milp is not None and model.solution is not None:
        yield f"The model is {model.solution.standing}."
        if model.solution.status is SolveStatus.INFEASIBLE:
            yield from describe_conflict(model.milp)
        return
    ran = runner.run(version.folder, version.program)
    lines = (ran.stderr or ran.stdout).strip().splitlines()
    last_line = ran.reason or (lines[-1] if lines else "")
    yield f"The program solves no model: {shorten(last_line, 300) or describe_run(ran)}"


@dataclass(frozen=True)
class PlanAnswers:
    """Answers about one version whose model has a plan."""

    version: VersionFacts
    milp: Milp
    solution: Solution
    runner: ProgramRunner

    def answer(self, question: ExactQuestion) -> Iterator[str]:
        """Yield the lines of an answer."""
        if question.kind is AskKind.PLAN:
            yield from self._show_plan()
        elif question.kind is AskKind.VALUE:
            yield from self._show_value(question.name)
        elif question.kind is AskKind.PRICE:
            yield from self._price_rows([self._find_row(question.name)])
        elif question.kind is AskKind.PRICES:
            yield from self._price_rows(self._binding_rows()[:MOST_LISTED])
        else:
            yield from self._list_rows(question.kind)

    def _show_plan(self) -> Iterator[str]:
        yield from self._state_unproven()
        labels = list_table_labels(self.version.files)
        families = group_families(self.milp.variables, self.solution.values, labels)
        tables = [fold_family(family) for family in families if family.nonzero_values]
        yield from ("", "```", *print_tables(layout_families(tables), WIDTH, MOST_LINES), "```")

    def _show_value(self, name: str) -> Iterator[str]:
        yield from self._state_unproven()
        if name in self.solution.values:
            unit = plain(self.milp.variable(name).unit, 20)
            table, key, value = "variables", "value", f"{write_amount(self.solution.values[name])} {unit}".strip()
        else:
            row = self._find_row(name)
            total = sum(value * self.solution.values.get(term, 0.0) for term, value in row.terms.items())
            value = f"{write_amount(total)} (must be {row.relation} {number(row.rhs)})"
            table, key = "constraints", "slack"
        cited = explaining.cite_record(self.version, table, name, key)
        yield f"{plain(name)} is {value}{''.join(f' {source}' for source in cited)}."

    def _find_row(self, name: str) -> Row:
        rows = {row.name: row for row in self.milp.rows}
        if name in rows:
            return rows[name]
        names = [*rows, *self.solution.values]
        near = get_close_matches(name[:LONGEST], names, n=1, cutoff=0.5)
        if near:
            hint = f"did you mean {plain(near[0])!r}?"
        else:
            hint = f"expected such as {join_some([plain(known) for known in names], MOST_NAMED)}"
        raise WorkspaceError(f"{one_line(name, LONGEST)!r} is no name in the model; {hint}")

    def _state_unproven(self) -> Iterator[str]:
        if self.solution.status is SolveStatus.FEASIBLE:
            standing = self.solution.standing
            yield f"The plan is not proven optimal ({standing}); a better one may have other values."

    def _binding_rows(self) -> list[Row]:
        """Return the binding rows; of a linear model those with the largest duals come first."""
        rows = [row for row in self.milp.rows if self.solution.is_tight(row)]
        if self.milp.has_integers:
            return rows
        return sorted(rows, key=lambda row: -abs(self.solution.duals.get(row.name, 0.0)))

    def _list_rows(self, kind: AskKind) -> Iterator[str]:
        """List binding rows or those with room; many rows are counted by rule."""
        has_room = kind is AskKind.SLACK
        chosen = [row for row in self.milp.rows if self.solution.is_tight(row) is not has_room]
        if has_room:
            verb = "have room"
        else:
            verb = "bind"
        yield f"{len(chosen)} of {len(self.milp.rows)} rows {verb}{':' if chosen else '.'}"
        if len(chosen) > MOST_LISTED:
            yield from self._count_rows(chosen)
            return
        for row in chosen:
            if has_room:
                room = f", room of {rounded(self.solution.slacks[row.name])}"
            else:
                room = ""
            cited = explaining.cite_record(self.version, "constraints", row.name, "slack")
            sources = "".join(f" {source}" for source in cited)
            yield f"- {plain(row.name)}: {explaining.describe_row(row)}{room}{sources}"

    def _count_rows(self, chosen: Sequence[Row]) -> Iterator[str]:
        names = {row.name for row in chosen}
        labels = list_table_labels(self.version.files)
        for family in group_families([Variable(row.name) for row in self.milp.rows], {}, labels):
            indices = [index for index, name in family.entries.items() if name in names]
            if indices:
                shown = join_some([" ".join(map(plain, index)) for index in indices if index], MOST_LISTED, "; ")
                count = f" {len(indices)} of {len(family.entries)}"
                yield f"- {plain(family.name)}{count}{f': {shown}' if shown else ''}"

    def _price_rows(self, rows: Sequence[Row]) -> Iterator[str]:
        """Give the objective with one unit more and one less on the right side of some rows."""
        if not rows:
            yield "No row binds: one unit more changes nothing."
            return
        moves = [{row.name: row.rhs + step} for row in rows for step in (1.0, -1.0)]
        solved = self.runner.solve_milps(*map(self.milp.with_rhs, moves))
        yield "With one unit more or less on the right side of each row:"
        for index, row in enumerate(rows):
            more, less = (self._describe_objective(model) for model in solved[2 * index : 2 * index + 2])
            yield f"- {plain(row.name)} {row.relation} {number(row.rhs)}: one more, {more}; one less, {less}"
        if not self.milp.has_integers:
            for row in (row for row in rows if self.solution.duals.get(row.name)):
                yield f"- {explaining.state_price(self.version, row, self.solution)}"

    def _describe_objective(self, model: SolvedModel) -> str:
        """Give the objective of a changed model, and its difference from the plan."""
        new = model.solution
        if new is None or new.objective is None:
            return f"the model is {new.standing if new else 'not solved'}"
        if new.standing == "optimal":
            note = ""
        else:
            note = f" ({new.standing})"
        change = describe_change(self.solution, new)
        return f"objective {number(new.objective)}{note}{f': {change}' if change else ''}"
