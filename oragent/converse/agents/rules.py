"""T-P-P without a model: short commands in place of sentences, answers that are proven."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from oragent._base.errors import ConfigError, OragentError
from oragent.converse.agents.agent import AgentAnswer
from oragent.converse.agents.change_commands import VERBS, read_change_command
from oragent.converse.agents.help import help_about
from oragent.converse.agents.plain_questions import read_question
from oragent.converse.decision import Solved, figure, goal_named
from oragent.converse.model_changes import compared, decision_changes, objectives_in_words, own_limit, with_change
from oragent.converse.optional_protocols import Editable
from oragent.converse.solving import Clash, begin, problem_in_force
from oragent.converse.state import Restriction, RestrictionKind, RestrictionState
from oragent.converse.tools import Toolbox
from oragent.llm.model import ToolCall
from oragent.milp.model import Sense
from oragent.milp.solution import SolveStatus
from oragent.report.pages.text import one_line

BOUND = re.compile(r"(.+?)\s*(<=|>=|<|>|≤|≥)\s*([-+]?[\d.,]+(?:e[-+]?\d+)?)", re.IGNORECASE)
NUMBER = r"[-+]?\d+\.?\d*"
RELATIONS = {"≤": "<=", "≥": ">="}
ELSE = re.compile(r"\s+else\s+")
SENSES = {
    "lowest": Sense.MINIMIZE, "least": Sense.MINIMIZE, "highest": Sense.MAXIMIZE, "most": Sense.MAXIMIZE, "best": None,
}  # fmt: skip
MOST_COMMANDS, MOST_OPTIONS = 50, 20


@dataclass
class RulesAgent:
    """An agent that follows commands.

    Attributes:
        tools: Tools that it works with; the model in force is theirs.
        name: Name of the design.
    """

    tools: Toolbox
    name: str = "rules"
    _shown: str = field(default="", init=False)
    _changed: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self._shown = self.tools.problem.default

    async def answer(self, message: str) -> AgentAnswer:
        """Do the commands of a message and tell what came of them.

        Alternatives stand behind ``else``: the next one is tried from where the first began, while they clash.
        """
        begun = self.tools.state
        lines: list[str] = []
        for alternative in ELSE.split(message.strip()):
            self.tools.state = begun
            lines = self._all(alternative)
            if not any(line.startswith("infeasible") for line in lines):
                break
        events, solved, calls = self.tools.taken()
        return AgentAnswer("\n".join(lines), events, solved, calls, self.tools.state)

    def _all(self, message: str) -> list[str]:
        commands = [part.strip() for part in re.split(r"[;\n]", message) if part.strip()][:MOST_COMMANDS]
        lines, begun = [], self.tools.state
        self._changed = False
        try:
            for command in commands or ["help"]:
                said = self._one(command)
                lines += [said] if said else []
            return [*lines, self._after(begun)] if self._changed else lines
        except OragentError as problem:
            self.tools.state = begun  # half of what was asked for would be something else
            return [*([] if self._changed else lines), f"not understood: {problem}"]

    def _after(self, begun: RestrictionState) -> str:
        """The solution of the model in force; where the model itself was changed, with what it was before."""
        told = compared(self.tools.solver, begun, self.tools.state) if self.tools.state.changes != begun.changes else ""
        return self._solved(self._call("call_solver", {}), told)

    def _one(self, command: str) -> str:
        """Do one command and say what is to be said of it; what it changed is solved in the end."""
        verb, _, rest = command.partition(" ")
        word, before = verb.casefold(), self.tools.state
        said = self._modified(word, rest, command)
        if said is not None:
            self._changed |= self.tools.state is not before
            return said
        if word == "reset":
            self.tools.state = begin(self.tools.problem)
            self._changed |= bool(rest)
            return ""
        if word in SENSES and rest:
            place = goal_named(self.tools.problem, rest)
            return self._solved(self.tools.extreme(place, SENSES[word] or self.tools.problem.expressions[place].sense))
        if word == "compare" and rest:
            return "\n".join(self._compared(rest))
        if word == "options" and rest:
            return "\n".join(self._options(rest.split()))
        return self._told(word, command)

    def _modified(self, word: str, rest: str, command: str) -> str | None:
        """Do a command that changes the model in force; None where it is another command."""
        if word in VERBS and rest:
            return self.tools.change(read_change_command(self.tools.problem, word, rest))
        if word == "remove" and rest:
            self._call("remove_constraint", {"name": self._removed(rest.strip())})
            return ""
        if found := BOUND.fullmatch(command):
            return self._bound(*found.groups())
        if word in ("fix", "forbid") and rest:
            self._fix(word, rest.split())
        elif word == "weight" and rest:
            self._weigh(rest)
        elif word == "undo":
            self.tools.state = self.tools.state.undone()
        else:
            return None
        return ""

    def _told(self, word: str, command: str) -> str:
        if word == "why":
            return "\n".join(self._why())
        if word == "show":
            return self._show()
        if word == "help":
            return help_about(self.tools.problem)
        if meant := read_question(self.tools.problem, command):
            return f"read as: {meant}\n{self._one(meant)}".rstrip()
        raise ConfigError(f"{command[:80]!r} is no command; expected such as 'fix ITEM OPTION' or 'OBJECTIVE <= 12'; "
                          "'help' lists them")  # fmt: skip

    def _show(self) -> str:
        """The solution under what is in force, and what that is; why there is none where there is none."""
        found, problem = self.tools.solve(), self.tools.problem
        names = [self._said(one) for one in self.tools.state.restrictions]
        names += [
            f"{one_line(change.name, 60)} {change.words} (changed in the model)" for change in self.tools.state.changes
        ]
        names += [f"{goal.word} weighs {figure(weight)}"
                  for goal, weight in zip(problem.expressions[: problem.goals], self.tools.state.weights, strict=False)
                  if weight != 1]  # fmt: skip
        in_force = f"In force: {'; '.join(names)}." if names else "Nothing is asked for or changed."
        if not found.decision:
            return f"{self._solved(found)}\n{in_force}"
        self._shown = found.decision
        return f"{problem.render(found.decision)}\n\n{in_force}"

    def _removed(self, text: str) -> str:
        """The name of the request that a text means: its own name, its words, or those of its subject.

        Raises:
            ConfigError: It can mean several.
        """
        meant = text.casefold()
        words = {goal.name: goal.word for goal in self.tools.problem.expressions}
        names = []
        for one in self.tools.state.restrictions:
            word = words[one.subject] if one.kind is RestrictionKind.BOUND else self.tools.problem.short(one.subject)
            if meant in {text.casefold() for text in (one.name, self._said(one), one.subject, word)}:
                names.append(one.name)
        names += [change.name for change in self.tools.state.changes if meant == change.name.casefold()]
        if len(names) > 1 and text not in names:
            raise ConfigError(f"{text[:60]!r} can mean {' or '.join(names)}; write which of them")
        return names[0] if len(names) == 1 else text

    def _fix(self, kind: str, words: list[str]) -> None:
        problem = self.tools.problem
        wrong: ConfigError | None = None
        for count in range(1, len(words)):
            try:
                item = problem.item(" ".join(words[:count]))
            except ConfigError as unknown:
                wrong = wrong or unknown if count < len(words) - 1 else unknown
                continue
            try:
                option = problem.option(item, " ".join(words[count:]))
            except ConfigError as unknown:
                if count == len(words) - 1:
                    raise
                wrong = unknown
                continue
            self._call(problem.vocabulary.tool, {
                problem.vocabulary.item: item, problem.vocabulary.option: option, "type": kind,
            })  # fmt: skip
            return
        names = problem.vocabulary
        raise wrong or ConfigError(f"{kind} needs a {names.item} and a {names.option}: {kind} ITEM OPTION")

    def _bound(self, name: str, relation: str, number: str) -> str:
        place = goal_named(self.tools.problem, name)
        try:
            value = float(number.replace(",", ""))
        except ValueError:
            raise ConfigError(f"{number!r} is no number; expected such as {name.strip()} <= 12") from None
        return self.tools.add(_restriction(self.tools, place, RELATIONS.get(relation, relation), value))

    def _weigh(self, rest: str) -> None:
        name, _, number = rest.strip().rpartition(" ")
        place = goal_named(self.tools.problem, name or number)
        goal = self.tools.problem.expressions[place]
        self._call("change_objective_weight", {"objective": goal.name, "weight": number})

    def _options(self, words: list[str]) -> Iterator[str]:
        place, problem = goal_named(self.tools.problem, words[0]), self.tools.problem
        goal = problem.expressions[place]
        relation = "<=" if goal.sense.sign > 0 else ">="
        for word in words[1 : MOST_OPTIONS + 1]:
            try:
                value = float(word.replace(",", ""))
            except ValueError:
                raise ConfigError(f"{word[:40]!r} is no number; expected such as options {goal.word} 20 16") from None
            found = self.tools.noted(
                self.tools.solver(self.tools.state.adding(_restriction(self.tools, place, relation, value)))
            )
            told = self._line(found) if found.decision else "infeasible"
            yield f"{goal.word} {relation} {figure(value)}: {told}"
        if len(words) == 1:
            raise ConfigError(f"options needs values, such as options {goal.word} 20 16 12")

    def _compared(self, rest: str) -> Iterator[str]:
        """What each of several limits of a row, or coefficients, would give; nothing is changed."""
        numbers = re.findall(rf"(?<=\s){NUMBER}(?=\s|,|$)", rest)
        name = re.split(rf"\s+{NUMBER}(?=\s|,|$)", rest, maxsplit=1)[0]
        if not numbers:
            raise ConfigError("compare needs values, such as compare ROW 40 50 60")
        for number in numbers[:MOST_OPTIONS]:
            request = read_change_command(self.tools.problem, "set", f"{name} {number}")
            state, line = with_change(self.tools.solver.problem, self.tools.state, request)
            found = self.tools.noted(self.tools.solver(state))
            yield f"{line}: {objectives_in_words(problem_in_force(self.tools.solver.problem, state), found)}"

    def _why(self) -> Iterator[str]:
        found = self.tools.clash()
        if found is not None:
            yield self._clash(found)
            return
        if not self.tools.state.restrictions:
            yield "nothing is asked for: this is what costs least by the weights"
        for one in self.tools.state.restrictions:
            rest = self.tools.state.only(*(other for other in self.tools.state.restrictions if other != one))
            without = self.tools.solver(rest)
            yield f"without {self._said(one)}: {self._line(without) if without.decision else str(without.status)}"

    def _call(self, tool: str, arguments: dict[str, object]) -> Solved:
        """Use a tool as a model would.

        Raises:
            ConfigError: The call was wrong.
        """
        result = self.tools(ToolCall("", tool, arguments))
        if self.tools.events[-1].failed:
            raise ConfigError(result.removeprefix("error: "))
        return self.tools.solver(self.tools.state) if tool == "call_solver" else Solved(SolveStatus.UNKNOWN)

    def _solved(self, found: Solved, compared_line: str = "") -> str:
        if not found.decision:
            clash = self.tools.clash() if found.status is SolveStatus.INFEASIBLE else None
            return self._clash(clash) if clash else f"{found.status}: no {self.tools.problem.vocabulary.decision} found"
        before, self._shown = self._shown, found.decision
        changes = list(decision_changes(self.tools.problem, before, found.decision))
        told = f"changed: {', '.join(changes)}" if changes else "nothing changed"
        return f"{compared_line or f'{self._line(found)}; {told}'}\n\n{self.tools.problem.render(found.decision)}"

    def _line(self, found: Solved) -> str:
        problem = self.tools.problem
        return ", ".join(filter(None, [problem.headline(found.decision), objectives_in_words(problem, found)]))

    def _said(self, one: Restriction) -> str:
        problem = self.tools.problem
        if one.kind is RestrictionKind.BOUND:
            goal = next(goal for goal in problem.expressions if goal.name == one.subject)
            return f"{goal.word} {one.relation} {figure(one.value)}"
        option = problem.vocabulary.brief(one.option)
        return f"{problem.short(one.subject)} {'not ' if one.kind is RestrictionKind.FORBID else ''}{option}"

    def _clash(self, found: Clash) -> str:
        own = [f"the model's own {'limits' if len(found.own) > 1 else 'limit'} in the way: {'; '.join(found.own)}"]
        if not found.parts:
            what = "the model with its changes" if self.tools.state.changes else "the model itself"
            return "; ".join([f"infeasible: {what}, whatever is asked for", *(own if found.own else [])])
        names = [self._said(one) for one in found.parts]
        parts = [f"{' and '.join(names)} {'clash' if len(names) > 1 else 'is impossible'}"]
        for bound, value in found.nearest.items():
            goal = next(goal for goal in self.tools.problem.expressions if goal.name == bound.subject)
            which = f" {goal.word}" if len(found.nearest) > 1 else ""
            extreme = "least" if bound.upper else "most"
            if value is not None:
                parts.append(f"the {extreme} possible{which} is {figure(value)}")
        if found.instead:
            # Which item is moved is clear where only one is fixed.
            several, brief = len({item for item, _ in found.instead}) > 1, self.tools.problem.vocabulary.brief
            moved = [
                f"{f'{self.tools.problem.short(item)} ' if several else ''}at {brief(option)} {figure(value)}"
                for (item, option), value in found.instead.items()
            ]
            parts.append(", ".join(moved))
        parts += own if found.own else []
        parts += [
            f"'set {one_line(bound.subject, 60)} {figure(bound.value)}' would change the row itself"
            for bound in found.parts
            if bound.kind is RestrictionKind.BOUND and self._against_row(bound)
        ]
        return f"infeasible: {'; '.join(parts)}"

    def _against_row(self, bound: Restriction) -> bool:
        """Whether a bound contradicts the limit that the model's own row of that name has on the other side."""
        problem = self.tools.problem
        if not isinstance(problem, Editable) or bound.subject not in [row.name for row in problem.original.rows]:
            return False
        limit = own_limit(problem, bound.subject, not bound.upper)
        return limit is not None and (bound.limit < limit if bound.upper else bound.limit > limit)


def _restriction(tools: Toolbox, place: int, relation: str, value: float) -> Restriction:
    return Restriction(
        RestrictionKind.BOUND, tools.problem.expressions[place].name, relation=relation, value=value, by=tools.by
    )
