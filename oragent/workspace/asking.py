"""Answers to questions in ordinary words, without a language model: values, limits, prices, what if, and why.

Every figure comes from a run of the program: on the data as they are, or on data with other cells.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from oragent._base.plain import join_some
from oragent.milp.decisions import Family, Index, fold_family, layout_families, print_tables
from oragent.milp.model import Relation, Row
from oragent.milp.plain import amount as write_amount
from oragent.milp.plain import number, plain, rounded
from oragent.milp.questions import WITHOUT
from oragent.milp.solution import SolveStatus
from oragent.workspace import explaining
from oragent.workspace.facts import WorkspaceFacts
from oragent.workspace.question import MOST_LISTED, UnclearQuestionError, last_line
from oragent.workspace.ranking_answers import rank_parts, read_workspace_ranking
from oragent.workspace.reading import shorten
from oragent.workspace.records import describe_conflict
from oragent.workspace.runner import ProgramRunner
from oragent.workspace.tools import describe_run
from oragent.workspace.vocabulary import DataCell, NamedKind, NamedPart
from oragent.workspace.what_if import ChangeAnswers, with_limit

# of tables in an answer
WIDTH, MOST_LINES = 100, 60
ASKED = r"how (?:many|much)|which|who|whom|where|when"
SUPPOSED = "what if|if|suppose|supposing|assume|assuming|imagine"
CHANGED = "what happens|set|raise|lower|increase|reduce|change|make .* (?:at least|at most|exactly)"
WHY_MORE = re.compile(r"\b(?:not (?:more|any)?|no|only|so (?:few|little|low)|zero|n't|never|nothing)\b|n't\b", re.I)


def _words(*patterns: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(patterns)})\b", re.IGNORECASE)


COUNTS = _words(ASKED, r"costs?|pays?|paid|expensive|earns?|spend\w*|total")
SUPPOSES = _words(SUPPOSED)
IF = _words(SUPPOSED, CHANGED, "would .* (?:change|cost|help|be worth)")
OVERVIEW = _words(r"explain|summar\w*|overview|everything|describe|tell me")
PRICES = _words(
    r"worth|shadow|marginal\w*|dual\w*|price of (?:one|an?) |bring|one more|an? (?:more|extra|additional)|next unit"
)
INFEASIBLE = _words(r"infeasible|impossible|no (?:solution|plan)|cannot hold|conflict\w*|not feasible")
WHY = _words("why|how come|reason")
BINDING = _words(r"bind\w*|bottleneck\w*|tight|scarce|restrict\w*|limit(?:s|ing|ed)?|constrain\w*")
ROOM = _words(r"slack\w*|room|spare|unused|left over|leftover|to spare|idle")
VALUE = _words(ASKED, "what (?:is|are|does|do|will)|what's|show|list|plan|total|give me")
PLAN = _words("plan|decisions?|solution|schedule|rota|roster")


def answer_question(facts: WorkspaceFacts, question: str, runner: ProgramRunner) -> str:
    """Answer a question in Markdown; a question with two readings is answered by a question."""
    if facts.original is not None:
        return explaining.answer_question(facts, question, runner)
    try:
        return PlanAnswers(facts.revised, question, runner, facts).answer()
    except UnclearQuestionError as unclear:
        return f"{unclear}\n"


@dataclass(frozen=True)
class PlanAnswers(ChangeAnswers):
    """Answers to every kind of question about one version."""

    def answer(self) -> str:
        """Answer the question."""
        text = self.question
        if not self.version.program:
            return "There is no program yet; 'oragent workspace build' makes one.\n"
        if INFEASIBLE.search(text) or (WHY.search(text) and not self.has_point):
            return self._join(self._explain_infeasible())
        if self.has_point and (ranking := read_workspace_ranking(text)) is not None:
            return self._join(rank_parts(self, *ranking))
        if IF.search(text) and not WHY.search(text) and (self.amount_of() is not None or WITHOUT.search(text)):
            return self._join(self.try_change())
        if not self.has_point:
            return self._join(self._explain_infeasible())
        if SUPPOSES.search(text) and not PRICES.search(text):
            raise self.ask_back([part.label for part in self.parts], "To which value is what to change")
        if PRICES.search(text):
            return self._join(self.price_parts())
        if WHY.search(text):
            return self._join(self._explain_why())
        if ROOM.search(text) or BINDING.search(text):
            return self._join(self._describe_rows())
        if self.amount_of() is not None and self.parts and not VALUE.search(text):
            return self._join(self.try_change())
        if VALUE.search(text) or self.parts:
            return self._join(self._show_values())
        if OVERVIEW.search(text):
            return explaining.answer_question(self.facts, text, self.runner)
        raise self.unknown_names()

    def _join(self, lines: Iterator[str]) -> str:
        return "\n".join(lines) + "\n"

    def _show_values(self) -> Iterator[str]:
        parts = self.best_parts(NamedKind.DECISION, NamedKind.OBJECTIVE, NamedKind.DATA, NamedKind.RULE)
        if not parts or (PLAN.search(self.question) and not any(part.is_labelled for part in parts)):
            yield self.headline()
            groups = [group for group in self.groups if group.kind is NamedKind.DECISION]
            yield from self._show_decisions([NamedPart(group, group.entries, words=(group.name,)) for group in groups])
            return
        decisions = self.best_parts(NamedKind.DECISION)
        is_counted = bool(decisions and decisions[0].is_labelled and COUNTS.search(self.question))
        if is_counted and decisions[0].score > parts[0].score - 1:
            # a parameter of a like name is not what is counted
            parts = decisions
        kind = parts[0].group.kind
        if kind is NamedKind.OBJECTIVE:
            yield self.headline()
        elif kind is NamedKind.DECISION:
            yield from self.state_unproven()
            yield from self._show_decisions(parts)
        elif kind is NamedKind.RULE:
            yield from self._describe_rows()
        else:
            for part in parts[:MOST_LISTED]:
                cells = [entry for entry in part.entries.values() if isinstance(entry, DataCell)]
                for cell in cells[:MOST_LISTED]:
                    text = plain(cell.text) or "not given"
                    if cell.key == part.group.name:
                        of = ""
                    else:
                        of = f" of {plain(cell.key)}"
                    yield f"- {plain(part.group.name)}{of} is {text} {cell.citation}."
                if len(cells) > MOST_LISTED:
                    yield f"- and {len(cells) - MOST_LISTED} more in {cells[0].path}"

    def _show_decisions(self, parts: list[NamedPart]) -> Iterator[str]:
        families = [self._family(part) for part in parts]
        for part, family in zip(parts, families, strict=True):
            values = list(family.nonzero_values.values())
            if family.unit:
                unit = f" {plain(family.unit, 20)}"
            else:
                unit = ""
            if len(family.entries) == 1:
                name = next(iter(family.entries.values()))
                cited = "".join(f" {key}" for key in explaining.cite_record(self.version, "variables", name, "value"))
                yield f"{plain(name)} is {write_amount(self.plan_values[name])}{unit}{cited}."
            else:
                yield (
                    f"{plain(part.title)}: {write_amount(sum(values))}{unit} in all, {len(values)} of "
                    f"{len(family.entries)} are not 0."
                )
            costs = self.milp.objective.terms
            shares = [costs[name] * self.plan_values[name] for name in family.entries.values() if name in costs]
            if any(shares):
                share = f"{write_amount(sum(shares))} {plain(self.milp.objective.unit, 20)}".rstrip()
                yield f"In the objective: {share}."
        tables = [fold_family(family) for family in families if len(family.entries) > 1 and family.nonzero_values]
        if tables:
            yield from ("", "```", *print_tables(layout_families(tables), WIDTH, MOST_LINES), "```")

    def _family(self, part: NamedPart) -> Family:
        entries: dict[Index, str] = {index: str(name) for index, name in part.entries.items()}
        units = {self.milp.variable(name).unit for name in list(entries.values())[:1]}
        return Family(part.group.name, entries, self.plan_values, next(iter(units), ""))

    def _describe_rows(self) -> Iterator[str]:
        """List binding rules or those with slack: of the named rules, else of those about named things, else of all."""
        solution = self.version.solution
        assert solution is not None
        parts = [part for part in self.parts if part.group.kind is NamedKind.RULE]
        named = self.best_parts(NamedKind.DECISION)
        if named and named[0].is_labelled:
            parts = [part for part in parts if part.is_labelled] or named
        elif named and (not parts or named[0].score > parts[0].score):
            parts = named
        else:
            parts = [part for part in parts if part.score == parts[0].score]
        names, decisions = ({str(name) for part in some for name in part.entries.values()} for some in (parts, named))
        is_about_decisions = bool(named) and parts is not named and named[0].is_labelled
        rows = [row for row in self.milp.rows if not names or row.name in names or names & set(row.terms)]
        rows = [row for row in rows if not is_about_decisions or decisions & set(row.terms)]
        is_room = bool(ROOM.search(self.question))
        chosen = [row for row in rows if solution.is_tight(row) is not is_room]
        labels = [", ".join(part.words[1:]) if part.is_labelled else part.group.name for part in parts]
        if parts:
            about = f" about {', '.join(dict.fromkeys(plain(label, 60) for label in labels[:3]))}"
        else:
            about = ""
        yield f"{len(chosen)} of {len(rows)} rows{about} {'have room' if is_room else 'bind'}{':' if chosen else '.'}"
        if len(chosen) > MOST_LISTED:
            yield from self._count_rows(chosen)
            return
        for row in chosen:
            sources = explaining.cite_record(self.version, "constraints", row.name, "slack")
            if is_room:
                room = f", room of {rounded(solution.slacks[row.name])}"
            else:
                room = ""
            if len(row.terms) <= 4:
                formula = explaining.describe_row(row)
            else:
                formula = f"{row.relation} {number(row.rhs)}"
            yield f"- {plain(row.name)}: {formula}{room}{''.join(f' {source}' for source in sources)}"

    def _count_rows(self, chosen: list[Row]) -> Iterator[str]:
        """Many rows by rule: how many of each, and of which indices."""
        names = {row.name for row in chosen}
        for group in self.groups:
            these = [index for index, name in group.entries.items() if name in names]
            if group.kind is NamedKind.RULE and these:
                labels = join_some([" ".join(map(plain, index)) for index in these if index], MOST_LISTED, "; ")
                if len(group.entries) > 1:
                    of = f" {len(these)} of {len(group.entries)}"
                else:
                    of = ""
                yield f"- {plain(group.name)}{of}{f': {labels}' if labels else ''}"

    def _explain_infeasible(self) -> Iterator[str]:
        model = self.version.model
        if self.has_point:
            yield f"It is not infeasible: the model has a plan. {self.headline()}"
        elif model is not None and model.milp is not None and model.solution is not None:
            yield f"The model is {model.solution.standing}."
            if model.solution.status is SolveStatus.INFEASIBLE:
                yield from describe_conflict(model.milp)
        else:
            ran = self.runner.run(self.version.folder, self.version.program)
            yield f"The program solves no model: {shorten(last_line(ran), 300) or describe_run(ran)}"

    def _explain_why(self) -> Iterator[str]:
        """Why a decision is as it is: the objective with one more or one less of it; else what counts most."""
        parts = self.best_parts(NamedKind.DECISION, NamedKind.OBJECTIVE)
        if not parts or parts[0].group.kind is NamedKind.OBJECTIVE:
            yield self.headline()
            yield from self._largest_terms()
            yield from self._describe_rows()
            return
        part = self.only_part(NamedKind.DECISION)
        names = [str(name) for name in part.entries.values()]
        now = sum(self.plan_values[name] for name in names)
        wants_more = bool(WHY_MORE.search(self.question)) or now <= sum(self.milp.variable(name).low for name in names)
        if wants_more:
            value, relation = (now + 1, Relation.AT_LEAST)
        else:
            value, relation = (now - 1, Relation.AT_MOST)
        (trial,) = self.runner.solve_milps(with_limit(self.milp, names, relation, value))
        if len(names) == 1:
            title = plain(part.title)
        else:
            title = f"The sum of {plain(part.title)} ({len(names)} decisions)"
        if wants_more:
            word = "more"
        else:
            word = "less"
        yield f"{title} is {write_amount(now)}. With one {word}: {self.describe_objective(trial)}."
        if trial.solution is not None and trial.solution.status is SolveStatus.INFEASIBLE and trial.milp is not None:
            yield from describe_conflict(trial.milp)
        elif trial.solution is not None and trial.solution.status.has_point:
            yield from explaining.describe_moves(self.plan_values, trial.solution.values)
        yield from self._describe_rows()

    def _largest_terms(self) -> Iterator[str]:
        shares = {name: cost * self.plan_values.get(name, 0.0) for name, cost in self.milp.objective.terms.items()}
        largest = sorted((name for name in shares if shares[name]), key=lambda name: -abs(shares[name]))[:MOST_LISTED]
        if largest:
            yield "What counts most in the objective:"
        for group in self.groups:
            if group.kind is NamedKind.DECISION and len(group.entries) > 1:
                total = sum(shares.get(str(name), 0.0) for name in group.entries.values())
                yield f"- {plain(group.name)} in all: {write_amount(total)}"
        for name in largest:
            cost, value = self.milp.objective.terms[name], self.plan_values[name]
            yield f"- {plain(name)}: {number(cost)} × {write_amount(value)} = {write_amount(shares[name])}"
