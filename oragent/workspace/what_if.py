"""Answers to suppositions: other data, other limits, one unit more or less; each compared with the present plan."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from oragent._base.plain import join_some
from oragent.milp.model import Milp, Relation, Row
from oragent.milp.plain import number, plain
from oragent.milp.questions import AT_LEAST, AT_MOST, EXACTLY, WITHOUT, Amount, AmountKind
from oragent.milp.solution import SolveStatus
from oragent.milp.solving import breaches
from oragent.workspace import explaining
from oragent.workspace.data_edits import has_formulas, replace_cells, replace_numbers
from oragent.workspace.layout import FileRole
from oragent.workspace.objective import StopReason, is_within_gap, relative_error
from oragent.workspace.question import EXAMPLES, MOST_LISTED, UnclearQuestionError, WorkspaceQuestion
from oragent.workspace.reading import WORKBOOKS, read_bytes
from oragent.workspace.records import TRIAL, describe_conflict
from oragent.workspace.runner import ProgramRun, SolvedModel
from oragent.workspace.vocabulary import DataCell, NamedKind, NamedPart

EVERY = re.compile(r"\b(?:all|every|each|everywhere)\b|(?:%|percent)", re.IGNORECASE)


@dataclass(frozen=True)
class ChangeAnswers(WorkspaceQuestion):
    """Answers that need another run or solve."""

    def try_change(self) -> Iterator[str]:
        """Try the change that a question supposes, and compare the plans."""
        if len(self._clauses) > 1:
            if any(clause._changed_part().group.kind is not NamedKind.DATA for clause in self._clauses):
                several = "Several figures are named at once"
                raise UnclearQuestionError(f"{several}; ask about one change of the model at a time.")
            yield from self._try_data()
            return
        part = self._changed_part()
        amount = self.only_amount(part)
        if part.group.kind is NamedKind.DATA:
            yield from self._try_data()
            return
        if part.group.kind is NamedKind.RULE:
            change = self._rule_changes
        else:
            change = self._decision_rows
        changed, text = change(part, amount)
        yield f"Read as: {text}. The data stay as they are; the model is solved again."
        (solved,) = self.runner.solve_milps(changed)
        yield from self._compare(solved)

    def _changed_part(self) -> NamedPart:
        """The part that a supposition changes: data before rules, decisions where they fit better."""
        if WITHOUT.search(self.question) and self.amount_of() is None:
            return self.only_part(NamedKind.RULE)
        if any(pattern.search(self.question) for pattern in (AT_LEAST, AT_MOST, EXACTLY)):
            return self.only_part(NamedKind.DECISION, NamedKind.DATA, NamedKind.RULE)
        return self.only_part(NamedKind.DATA, NamedKind.RULE, NamedKind.DECISION)

    def _numeric_cells(self, part: NamedPart) -> list[DataCell]:
        return [entry for entry in part.entries.values() if isinstance(entry, DataCell)]

    def _try_data(self) -> Iterator[str]:
        moves: dict[DataCell, str] = {}
        notes: list[str] = []
        for clause in self._clauses:
            changed, empty = clause._data_moves()
            moves |= changed
            notes += [f"- {cell} holds {plain(cell.text) or 'nothing'} and stays so" for cell in empty]
        texts = [f"{cell} = {plain(cell.text) or 'nothing'} → {text}" for cell, text in moves.items()]
        read = join_some(texts, 3, "; ")
        yield f"Read as: {read}. The program was run on these data; the files stay as they are."
        yield from notes
        yield from self._describe_reading(moves)
        ran = self._run_changed(moves)
        if ran.last_model is None or not (ran.stop is StopReason.ENDED or ran.is_cut_with_plan):
            yield f"- {self.describe_objective(ran.last_model, ran)}"
            return
        yield from self._compare(ran.last_model)

    @cached_property
    def _clauses(self) -> list["ChangeAnswers"]:
        """The question, or its clauses where each of several names an amount."""
        clauses = [replace(self, question=text) for text in re.split(r"\band\b|;|, (?=\D)", self.question)]
        named = [clause for clause in clauses if clause.parts and clause.amount_of(clause.parts[0]) is not None]
        if len(named) > 1:
            return named
        return [self]

    def _data_moves(self) -> tuple[dict[DataCell, str], list[DataCell]]:
        """New text of each cell that changes, and the cells without a number that stay."""
        part = self.only_part(NamedKind.DATA)
        cells, amount = self._numeric_cells(part), self.only_amount(part)
        if amount is None:
            raise UnclearQuestionError(f"To which value is {part.label} to change? {EXAMPLES}.")
        is_clear = part.is_labelled and amount.kind is not AmountKind.VALUE
        if len(cells) > 1 and not is_clear and not EVERY.search(self.question):
            raise self.ask_back([*map(str, cells), f"all of {part.label}"])
        empty = [cell for cell in cells if cell.value is None and amount.kind is not AmountKind.VALUE]
        cells = [cell for cell in cells if cell not in empty]
        if not cells:
            raise UnclearQuestionError(
                f"{empty[0]} holds {plain(empty[0].text) or 'nothing'}, "
                f"{'which can be read in two ways' if empty[0].is_unclear else 'no number'}; name its value."
            )
        return {cell: _new_text(cell, amount) for cell in cells}, empty

    def _describe_reading(self, moves: Mapping[DataCell, str]) -> Iterator[str]:
        """Say of which changed files or sheets no code has the name, and which workbooks have formulas."""
        code = "\n".join(text for _, _, text in self.version.read_lines(FileRole.CODE))
        for path in dict.fromkeys(cell.path for cell in moves):
            name = path.rpartition("/")[2]
            if name not in code and name.partition(".")[0] not in code:
                yield f"- The program does not name {plain(path)}: it may not read it."
            if path.casefold().endswith(WORKBOOKS) and has_formulas(read_bytes(self.version.files[path])):
                yield f"- Formulas in {plain(path)} are not computed again: they keep the values that were saved."
        for table, sheet in dict.fromkeys((cell.table, cell.sheet) for cell in moves if cell.sheet):
            if sheet not in code:
                yield f"- The program does not name {plain(table)}: if it reads another sheet, nothing changes."

    def _run_changed(self, moves: Mapping[DataCell, str]) -> ProgramRun:
        changed: dict[str, str | bytes] = {}
        for path in dict.fromkeys(cell.path for cell in moves):
            content = read_bytes(self.version.files[path])
            here = {cell: text for cell, text in moves.items() if cell.path == path}
            if path.endswith(".json"):
                changed[path] = replace_numbers(content, path, {cell.keys: text for cell, text in here.items()})
            else:
                for sheet in dict.fromkeys(cell.sheet for cell in here):
                    cells = {(cell.row, cell.column): text for cell, text in here.items() if cell.sheet == sheet}
                    content = replace_cells(content, path, cells, sheet)
                changed[path] = content
        return self.runner.run(self.version.folder, self.version.program, changed)

    def _rule_changes(self, part: NamedPart, amount: Amount | None) -> tuple[Milp, str]:
        rows = [self.milp.row(str(name)) for name in part.entries.values()]
        if amount is None:
            gone = {row.name for row in rows}
            milp = replace(self.milp, rows=tuple(row for row in self.milp.rows if row.name not in gone))
            return milp, f"without {len(rows)} row{'s' if len(rows) > 1 else ''} of {plain(part.title)}"
        is_clear = part.is_labelled and amount.kind is not AmountKind.VALUE
        if len(rows) > 1 and not is_clear and not EVERY.search(self.question):
            raise self.ask_back([row.name for row in rows])
        values = {row.name: amount.apply(row.rhs) for row in rows}
        texts = (
            f"row {plain(row.name)} {row.relation} {number(row.rhs)} → {number(values[row.name])}" for row in rows[:3]
        )
        return self.milp.with_rhs(values), "; ".join(texts)

    def _decision_rows(self, part: NamedPart, amount: Amount | None) -> tuple[Milp, str]:
        """The model with a limit on a decision, or on the sum of several."""
        names = [str(name) for name in part.entries.values()]
        if self.has_point:
            now = sum(self.plan_values.get(name, 0.0) for name in names)
        else:
            now = 0.0
        if len(names) == 1:
            title = plain(part.title)
        else:
            title = f"the sum of {plain(part.title)} ({len(names)} decisions)"
        if amount is None:
            raise UnclearQuestionError(f"To which value is {title} to change? {EXAMPLES}.")
        value = amount.apply(now)
        relations = ((AT_LEAST, Relation.AT_LEAST), (AT_MOST, Relation.AT_MOST), (EXACTLY, Relation.EQUAL))
        relation = next((relation for pattern, relation in relations if pattern.search(self.question)), None)
        if relation is None and amount.kind is not AmountKind.VALUE:
            if value > now:
                relation = Relation.AT_LEAST
            else:
                relation = Relation.AT_MOST
        if relation is None:
            words = [f"{relation} {number(value)} {part.title}" for relation in ("exactly", "at least", "at most")]
            data = [part for part in self.parts if part.group.kind is NamedKind.DATA]
            words += [other.label for other in data if other.score >= part.score - 1]
            raise self.ask_back(words)
        return with_limit(self.milp, names, relation, value), f"{title} {relation} {number(value)} (now {number(now)})"

    def _compare(self, after: SolvedModel) -> Iterator[str]:
        before = self.write_objective(self.version.model)
        yield f"- Before: objective {before}. After: {self.describe_objective(after)}."
        if after.milp is None or after.solution is None:
            return
        if after.solution.status is SolveStatus.INFEASIBLE:
            yield from describe_conflict(after.milp)
            return
        if not after.solution.status.has_point or not self.has_point:
            return
        if is_within_gap(self.version.solution, after.solution):
            yield (
                "- Nothing is shown on decisions either: both plans may be replaced by better ones. "
                "More time or a smaller gap (--time, --gap) may tell."
            )
            return
        if self._stays_optimal(after):
            is_proven = after.solution.status is SolveStatus.OPTIMAL
            yield f"- The present plan is still {'optimal' if is_proven else 'as good as the best one found'}."
            return
        yield from explaining.describe_moves(self.plan_values, after.solution.values)
        old, new = (_tight_row_names(model) for model in (self.version.model, after))
        for names, word in ((new - old, "now binds"), (old - new, "no longer binds")):
            if names:
                yield f"- {word}: {join_some([plain(name) for name in sorted(names)], MOST_LISTED)}"

    def _stays_optimal(self, after: SolvedModel) -> bool:
        """Return True if the present plan is feasible in another model and reaches its optimum."""
        if after.milp is None or {variable.name for variable in after.milp.variables} != set(self.plan_values):
            return False
        if breaches(after.milp, self.plan_values) or after.objective is None:
            return False
        terms = after.milp.objective.terms
        now = after.milp.objective.constant + sum(cost * self.plan_values[name] for name, cost in terms.items())
        return relative_error(now, after.objective) <= 1e-6

    def price_parts(self) -> Iterator[str]:
        """The objective with one unit more and one less of what is named; of the binding rows where nothing is."""
        parts = self.best_parts(NamedKind.DATA, NamedKind.RULE)
        if not parts:
            yield from self.price_rows(self.tight_rows)
            return
        part = self.only_part(NamedKind.DATA, NamedKind.RULE)
        if part.group.kind is NamedKind.RULE:
            yield from self.price_rows([self.milp.row(str(name)) for name in part.entries.values()])
            return
        cells = self._numeric_cells(part)
        if len(cells) > 1 and not EVERY.search(self.question):
            raise self.ask_back([*map(str, cells), f"all of {part.label}"])
        are_large = all(abs(cell.value or 0.0) >= 1 for cell in cells)
        if are_large:
            step = 1.0
        else:
            step = 0.1 * max(abs(cell.value or 1.0) for cell in cells)
        many = f"{len(cells)} cells of {cells[0].table}, column {cells[0].header.strip()}"
        if len(cells) == 1:
            where = str(cells[0])
        else:
            where = many
        yield f"The program was run with {number(step)} more and {number(step)} less in {where}:"
        for sign, word in ((1, "more"), (-1, "less")):
            amount = Amount(AmountKind.DIFFERENCE, sign * step)
            ran = self._run_changed({cell: _new_text(cell, amount) for cell in cells if cell.value is not None})
            yield f"- {number(step)} {word}: {self.describe_objective(ran.last_model, ran)}"

    def price_rows(self, rows: list[Row]) -> Iterator[str]:
        """Write the objective with one unit more and one less on the right side of some rows."""
        rows = rows[:MOST_LISTED]
        if not rows:
            yield "No row binds: one unit more changes nothing."
            return
        moves = [{row.name: row.rhs + step} for row in rows for step in (1.0, -1.0)]
        solved = self.runner.solve_milps(*map(self.milp.with_rhs, moves))
        yield "With one unit more or less on the right side of each row:"
        for index, row in enumerate(rows):
            more, less = (self.describe_objective(model) for model in solved[2 * index : 2 * index + 2])
            yield f"- {plain(row.name)} {row.relation} {number(row.rhs)}: one more, {more}; one less, {less}"
        solution = self.version.solution
        if solution is not None and not self.milp.has_integers:
            for row in (row for row in rows if solution.duals.get(row.name)):
                yield f"- {explaining.state_price(self.version, row, solution)}"


def _tight_row_names(model: SolvedModel | None) -> set[str]:
    if model is None or model.milp is None or model.solution is None or not model.solution.status.has_point:
        return set()
    return {row.name for row in model.milp.rows if model.solution.is_tight(row)}


def with_limit(milp: Milp, names: list[str], relation: Relation, value: float) -> Milp:
    """Return the model with a limit on the sum of some decisions."""
    row = Row(TRIAL, dict.fromkeys(names, 1.0), relation, value)
    return replace(milp, rows=(*(other for other in milp.rows if other.name != row.name), row))


def _new_text(cell: DataCell, amount: Amount) -> str:
    return f"{amount.apply(cell.value or 0.0):.12g}"
