"""Agent that follows exact commands, without a language model; a solver proves its answers."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from oragent._base.errors import ConfigError, OragentError
from oragent._base.text_format import one_line
from oragent.converse.agents.change_commands import (
    RELATIONS,
    VERBS,
    help_about,
    no_command_error,
    parse_figure,
    read_change_command,
)
from oragent.converse.decider import AgentAnswer
from oragent.converse.decision import Editable, Solved, format_figure, goal_named
from oragent.converse.model_changes import (
    compare_states,
    describe_changes,
    objectives_in_words,
    own_limit,
    separate_changes,
    with_change,
)
from oragent.converse.solving import Clash, begin, problem_in_force
from oragent.converse.state import Restriction, RestrictionKind, RestrictionState
from oragent.converse.tools import Toolbox
from oragent.llm.model import ToolCall
from oragent.milp.model import Sense
from oragent.milp.solution import SolveStatus

BOUND = re.compile(r"(?i)(.+?)\s*(<=|>=|<|>|≤|≥)\s*([-+]?[\d.,]+(?:e[-+]?\d+)?)")
NUMBER = r"[-+]?\d+\.?\d*"
COMPARED = re.compile(rf"(?P<name>.+?)(?P<numbers>(?:\s+{NUMBER})+)")
TRY = re.compile(r"(?i)\s*try\s")
ELSE = re.compile(r"\s+else\s+")
SENSES = {
    "lowest": Sense.MINIMIZE,
    "least": Sense.MINIMIZE,
    "highest": Sense.MAXIMIZE,
    "most": Sense.MAXIMIZE,
    "best": None,
}
NO_CHANGE = "nothing changed"
MOST_COMMANDS, MOST_OPTIONS = 50, 20


@dataclass
class RulesAgent:
    """An agent that follows commands.

    Attributes:
        tools: Tools that it works with; the model in force is theirs.
        is_brief: Whether an answer shows what changed, and only ``show`` shows whole decisions.
    """

    tools: Toolbox
    name: str = "rules"
    is_brief: bool = False
    _shown: str = field(default="", init=False)
    _shown_summary: str = field(default="", init=False)
    _presented: list[str] = field(default_factory=list, init=False)
    _changed: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self._shown = self.tools.problem.default
        self._shown_summary = self._summarize_solved(self.tools.problem.first)

    async def answer(self, message: str) -> AgentAnswer:
        """Do the commands of a message and tell what came of them.

        Alternatives stand behind ``else``: the next one is tried from where the first began, while they clash.
        """
        begun = self.tools.state
        lines: list[str] = []
        self._presented = []
        for alternative in ELSE.split(message.strip()):
            self.tools.state = begun
            lines = self._run_commands(alternative)
            if not any(answer_line.startswith("infeasible") for answer_line in lines):
                break
        if self.is_brief and not begun.follows(self.tools.state):
            # one undo takes a whole message back
            self.tools.state = replace(self.tools.state, before=begun)
        events, solved, calls = self.tools.taken()
        presented = tuple(self._presented)
        return AgentAnswer("\n".join(lines), events, solved, calls, self.tools.state, presented=presented)

    def _run_commands(self, message: str) -> list[str]:
        commands = _split_commands(message)
        lines, begun = [], self.tools.state
        self._changed = False
        try:
            for command in commands or ["help"]:
                reply = self._run_command(command)
                if reply:
                    lines += [reply]
                else:
                    lines += []
            if not self._changed:
                return lines
            if self.tools.state.changes != begun.changes:
                comparison = self._compare_states(begun)
            else:
                comparison = ""
            return [*lines, self._describe_solved(self._call_tool("call_solver", {}), comparison)]
        except OragentError as problem:
            # half of what was asked for would be something else
            self.tools.state = begun
            return [*([] if self._changed else lines), f"not understood: {problem}"]

    def _compare_states(self, begun: RestrictionState) -> str:
        return compare_states(self.tools.solver, begun, self.tools.state, is_grouped=self.is_brief)

    def _run_command(self, command: str) -> str:
        """Do one command and say what is to be said of it; what it changed is solved in the end."""
        verb, _, rest = command.partition(" ")
        word, rest, earlier_state = verb.casefold(), rest.strip(), self.tools.state
        if word == "try" and rest:
            return self._try_commands(rest.split(";"))
        reply = self._modify_state(word, rest, command)
        if reply is not None:
            self._changed |= self.tools.state is not earlier_state
            return reply
        if word == "reset" and rest.casefold() in ("", "all"):
            self.tools.state = begin(self.tools.problem)
            self._changed |= bool(rest) or self.is_brief
            return ""
        if word in SENSES and rest:
            position = goal_named(self.tools.problem, rest)
            solved = self.tools.extreme(position, SENSES[word] or self.tools.problem.expressions[position].sense)
            return self._describe_probe(word, position, solved)
        if word == "compare" and rest:
            return "\n".join(self._compare_values(rest))
        if word == "options" and rest:
            return "\n".join(self._try_bounds(rest.split()))
        return self._answer_query(word, rest, command)

    def _modify_state(self, word: str, rest: str, command: str) -> str | None:
        """Do a command that changes the model in force; None where it is another command."""
        if word in VERBS and rest:
            return self.tools.change(read_change_command(self.tools.problem, word, rest))
        if word == "remove" and rest:
            self._call_tool("remove_constraint", {"name": self._resolve_removal(rest)})
            return ""
        if bound_match := BOUND.fullmatch(command):
            return self._add_bound(*bound_match.groups())
        if word in ("fix", "forbid") and rest:
            self._fix_item(word, rest.split())
        elif word == "weight" and rest:
            self._set_weight(rest)
        elif word == "undo" and not rest:
            self.tools.state = self.tools.state.undone()
        else:
            return None
        return ""

    def _answer_query(self, word: str, rest: str, command: str) -> str:
        """Do a command that shows something and changes nothing."""
        problem = self.tools.problem
        if word == "why" and not rest:
            return "\n".join(self._explain_state())
        if word == "show" and not rest:
            return self._show_state()
        if word == "status" and rest.casefold() in ("", "objective", "changes"):
            return "\n".join(self._describe_status(rest.casefold()))
        if word == "help" and not rest:
            return help_about(problem)
        is_listing = (word == "values" and rest) or (word == "binding" and not rest)
        if is_listing and isinstance(problem, Editable):
            solved = self.tools.solve()
            if not solved.decision:
                return self._describe_solved(solved)
            return problem.describe_values(solved.decision, rest.split() or None)
        raise no_command_error(problem, command)

    def _try_commands(self, commands: list[str]) -> str:
        """Say what commands would change; the model in force stays as it is."""
        begun, has_changed, calls = self.tools.state, self._changed, len(self.tools.events)
        try:
            replies = [reply for command in commands if (reply := self._run_command(command.strip()))]
            solved = self.tools.solve()
            compared = self._compare_states(begun)
            if solved.decision:
                effect = compared
            else:
                effect = self._describe_solved(solved)
            return "\n".join([*replies, effect, "this was only tried: nothing is changed"])
        finally:
            self.tools.state, self._changed = begun, has_changed
            # they would be read as calls that are in force
            del self.tools.events[calls:]

    def _show_state(self) -> str:
        """The solution under what is in force, and what that is; why there is none where there is none."""
        solved, problem = self.tools.solve(), self.tools.problem
        in_force = self._describe_in_force()
        if not solved.decision:
            return f"{self._describe_missing(solved)}\n{in_force}"
        self._remember_shown(solved)
        return f"{problem.render(solved.decision)}\n\n{in_force}"

    def _describe_status(self, what: str) -> Iterator[str]:
        """The objectives now and at the opening; with ``changes`` also what changed, and what is in force."""
        solved, problem = self.tools.solve(), self.tools.problem
        opening = objectives_in_words(self.tools.solver.problem, self.tools.solver.problem.first)
        now = objectives_in_words(problem, solved)
        if not solved.decision:
            yield self._describe_missing(solved)
        else:
            yield now if now == opening else f"{now}; at the opening: {opening}"
        if what == "changes" and solved.decision:
            default = self.tools.solver.problem.default
            is_grouped = isinstance(problem, Editable)
            yield describe_changes(problem, default, solved.decision, is_grouped) or "no decision changed"
        if what != "objective":
            yield self._describe_in_force()

    def _describe_in_force(self) -> str:
        """What is asked for and changed, on one line."""
        problem = self.tools.problem
        names = [self._describe_restriction(restriction) for restriction in self.tools.state.restrictions]
        names += [
            f"{one_line(change.name, 60)} {change.value_text} (changed in the model)"
            for change in self.tools.state.changes
        ]
        names += [
            f"{goal.word} weighs {format_figure(weight)}"
            for goal, weight in zip(problem.expressions[: problem.goals], self.tools.state.weights, strict=False)
            if weight != 1
        ]
        if names:
            return f"In force: {'; '.join(names)}."
        return "Nothing is asked for or changed."

    def _resolve_removal(self, text: str) -> str:
        """The name of the request that a text means: its own name, its words, or those of its subject."""
        meant = _plain_words(text.replace("(changed in the model)", " "))
        words = {goal.name: goal.word for goal in self.tools.problem.expressions}
        names = []
        for restriction in self.tools.state.restrictions:
            is_bound = restriction.kind is RestrictionKind.BOUND
            if is_bound:
                word = words[restriction.subject]
            else:
                word = self.tools.problem.short(restriction.subject)
            shown_texts = (restriction.name, self._describe_restriction(restriction), restriction.subject, word)
            if meant in map(_plain_words, shown_texts):
                names.append(restriction.name)
        for change in self.tools.state.changes:
            subjects = {change.subject, words.get(change.subject, change.subject)}
            targets = [f"{subject} {change.variable}" for subject in subjects]
            if meant in map(_plain_words, [*targets, *(f"{target} {change.value_text}" for target in targets)]):
                names.append(change.name)
        if len(names) > 1 and text not in names:
            raise ConfigError(f"{text[:60]!r} can mean {' or '.join(names)}; write which of them")
        if len(names) == 1:
            return names[0]
        return text

    def _fix_item(self, kind: str, words: list[str]) -> None:
        problem = self.tools.problem
        wrong: ConfigError | None = None
        for count in range(1, len(words)):
            try:
                item = problem.item(" ".join(words[:count]))
            except ConfigError as unknown:
                if count < len(words) - 1:
                    wrong = wrong or unknown
                else:
                    wrong = unknown
                continue
            try:
                option = problem.option(item, " ".join(words[count:]))
            except ConfigError as unknown:
                if count == len(words) - 1:
                    raise
                wrong = unknown
                continue
            self._call_tool(
                problem.vocabulary.tool,
                {
                    problem.vocabulary.item: item,
                    problem.vocabulary.option: option,
                    "type": kind,
                },
            )
            return
        names = problem.vocabulary
        raise wrong or ConfigError(f"{kind} needs a {names.item} and a {names.option}: {kind} ITEM OPTION")

    def _add_bound(self, name: str, relation: str, number: str) -> str:
        position = goal_named(self.tools.problem, name)
        try:
            value = parse_figure(number)
        except ValueError:
            raise ConfigError(f"{number!r} is no number; expected such as {name.strip()} <= 12") from None
        return self.tools.add(_make_bound(self.tools, position, RELATIONS.get(relation, relation), value))

    def _set_weight(self, rest: str) -> None:
        name, _, number = rest.strip().rpartition(" ")
        position = goal_named(self.tools.problem, name or number)
        goal = self.tools.problem.expressions[position]
        self._call_tool("change_objective_weight", {"objective": goal.name, "weight": number})

    def _try_bounds(self, words: list[str]) -> Iterator[str]:
        position, problem = goal_named(self.tools.problem, words[0]), self.tools.problem
        goal = problem.expressions[position]
        if goal.sense.sign > 0:
            relation = "<="
        else:
            relation = ">="
        for word in words[1 : MOST_OPTIONS + 1]:
            try:
                value = parse_figure(word)
            except ValueError:
                raise ConfigError(f"{word[:40]!r} is no number; expected such as options {goal.word} 20 16") from None
            solved = self.tools.note_solved(
                self.tools.solver(self.tools.state.adding(_make_bound(self.tools, position, relation, value)))
            )
            if solved.decision:
                summary = self._summarize_solved(solved)
            else:
                summary = "infeasible"
            yield f"{goal.word} {relation} {format_figure(value)}: {summary}"
        if len(words) == 1:
            raise ConfigError(f"options needs values, such as options {goal.word} 20 16 12")

    def _compare_values(self, rest: str) -> Iterator[str]:
        """What each of several limits of a row, or coefficients, would give; nothing is changed."""
        listed = COMPARED.fullmatch(rest)
        if listed is None:
            raise ConfigError("compare needs a name and values, such as compare ROW 40 50 60")
        name, numbers = listed["name"], listed["numbers"].split()
        for number in numbers[:MOST_OPTIONS]:
            request = read_change_command(self.tools.problem, "set", f"{name} {number}")
            state, change_line = with_change(self.tools.solver.problem, self.tools.state, request)
            solved = self.tools.note_solved(self.tools.solver(state))
            yield f"{change_line}: {objectives_in_words(problem_in_force(self.tools.solver.problem, state), solved)}"

    def _explain_state(self) -> Iterator[str]:
        clash = self.tools.clash()
        if clash is not None:
            yield self._describe_clash(clash)
            return
        for change in self.tools.state.changes:
            state = self.tools.state.removing(change.name)
            before = objectives_in_words(problem_in_force(self.tools.solver.problem, state), self.tools.solver(state))
            yield f"without the change {one_line(change.name, 60)} {change.value_text}: {before}"
        if not self.tools.state.restrictions and not self.tools.state.changes:
            yield f"nothing is asked for: this is {self._describe_best()}"
        for restriction in self.tools.state.restrictions:
            without = self.tools.solver(self.tools.state.without(restriction))
            if without.decision:
                summary = self._summarize_solved(without)
            else:
                summary = str(without.status)
            yield f"without {self._describe_restriction(restriction)}: {summary}"

    def _describe_best(self) -> str:
        """What is best about a plan where nothing is asked for."""
        problem = self.tools.problem
        goals = problem.expressions[: problem.goals]
        if len(goals) > 1:
            return "what costs least by the weights"
        return f"the plan with the {'highest' if goals[0].sense is Sense.MAXIMIZE else 'lowest'} {goals[0].word}"

    def _call_tool(self, tool: str, arguments: dict[str, object]) -> Solved:
        """Use a tool as a model would."""
        result = self.tools(ToolCall("", tool, arguments))
        if self.tools.events[-1].failed:
            raise ConfigError(result.removeprefix("error: "))
        if tool == "call_solver":
            return self.tools.solver(self.tools.state)
        return Solved(SolveStatus.UNKNOWN)

    def _describe_solved(self, solved: Solved, compared_line: str = "") -> str:
        """A solution and what it changes; why there is none where there is none."""
        if not solved.decision:
            return self._describe_missing(solved)
        before, summary, changes = self._shown_summary, self._summarize_solved(solved), self._list_changes(solved)
        self._remember_shown(solved)
        if not self.is_brief:
            return f"{compared_line or f'{summary}; {changes}'}\n\n{self.tools.problem.render(solved.decision)}"
        self._presented.append(solved.decision)
        if isinstance(self.tools.problem, Editable) and summary != before:
            summary = f"before: {before}; after: {summary}"
        headline = compared_line or f"{summary}{separate_changes(changes)}{changes}"
        hint = f"\n'show' prints the whole {self.tools.problem.vocabulary.decision}"
        return f"{headline}{'' if changes == NO_CHANGE else hint}"

    def _describe_probe(self, word: str, position: int, solved: Solved) -> str:
        """The solution with the least or the most of an expression, which is not put in force."""
        if not solved.decision:
            return self._describe_missing(solved)
        problem, changes = self.tools.problem, self._list_changes(solved)
        extreme = self._describe_extreme(word, position, solved)
        headline = extreme or self._summarize_solved(solved)
        if not self.is_brief:
            return f"{headline}{'' if extreme else f'; {changes}'}\n\n{problem.render(solved.decision)}"
        self._presented.append(solved.decision)
        sense = SENSES[word] or problem.expressions[position].sense
        value = format_figure(problem.features(solved.decision)[position])
        bound = f"{problem.expressions[position].word} {'<=' if sense is Sense.MINIMIZE else '>='} {value}"
        return f"{headline}{separate_changes(changes)}{changes}\nnothing was changed; '{bound}' puts this in force"

    def _describe_extreme(self, word: str, position: int, solved: Solved) -> str:
        """The least or the most of a row or variable, which the objectives do not show."""
        problem = self.tools.problem
        if position < problem.goals:
            return ""
        value = format_figure(problem.features(solved.decision)[position])
        name = problem.expressions[position].word
        return f"the {word} possible {name} is {value}, with {self._summarize_solved(solved)}"

    def _describe_missing(self, solved: Solved) -> str:
        """Why there is no solution."""
        if solved.status is SolveStatus.INFEASIBLE:
            clash = self.tools.clash()
        else:
            clash = None
        if clash:
            return self._describe_clash(clash)
        return f"{solved.status}: no {self.tools.problem.vocabulary.decision} found"

    def _list_changes(self, solved: Solved) -> str:
        """What a solution changes of the one that was shown last."""
        is_grouped = self.is_brief and isinstance(self.tools.problem, Editable)
        return describe_changes(self.tools.problem, self._shown, solved.decision, is_grouped) or NO_CHANGE

    def _remember_shown(self, solved: Solved) -> None:
        """Keep a solution as the one that the next is compared with."""
        self._shown, self._shown_summary = solved.decision, self._summarize_solved(solved)

    def _summarize_solved(self, solved: Solved) -> str:
        problem = self.tools.problem
        return ", ".join(filter(None, [problem.headline(solved.decision), objectives_in_words(problem, solved)]))

    def _describe_restriction(self, restriction: Restriction) -> str:
        problem = self.tools.problem
        if restriction.kind is RestrictionKind.BOUND:
            goal = next(goal for goal in problem.expressions if goal.name == restriction.subject)
            return f"{goal.word} {restriction.relation} {format_figure(restriction.value)}"
        option = problem.vocabulary.brief(restriction.option)
        if restriction.kind is RestrictionKind.FORBID:
            negation = "not "
        else:
            negation = ""
        return f"{problem.short(restriction.subject)} {negation}{option}"

    def _describe_clash(self, clash: Clash) -> str:
        own_limits = [
            f"the model's own {'limits' if len(clash.own) > 1 else 'limit'} in the way: {'; '.join(clash.own)}"
        ]
        if not clash.parts:
            if self.tools.state.changes:
                what = "the model with its changes"
            else:
                what = "the model itself"
            return "; ".join([f"infeasible: {what}, whatever is asked for", *(own_limits if clash.own else [])])
        names = [self._describe_restriction(restriction) for restriction in clash.parts]
        parts = [f"{' and '.join(names)} {'clash' if len(names) > 1 else 'is impossible'}"]
        for bound, value in clash.nearest.items():
            goal = next(goal for goal in self.tools.problem.expressions if goal.name == bound.subject)
            if len(clash.nearest) > 1:
                which = f" {goal.word}"
            else:
                which = ""
            if bound.upper:
                extreme = "least"
            else:
                extreme = "most"
            if value is not None:
                parts.append(f"the {extreme} possible{which} is {format_figure(value)}")
        if clash.instead:
            # Which item is moved is clear where only one is fixed.
            several, brief = len({item for item, _ in clash.instead}) > 1, self.tools.problem.vocabulary.brief
            moved = [
                f"{f'{self.tools.problem.short(item)} ' if several else ''}at {brief(option)} {format_figure(value)}"
                for (item, option), value in clash.instead.items()
            ]
            parts.append(", ".join(moved))
        if clash.own:
            parts += own_limits
        else:
            parts += []
        parts += [
            f"'set {one_line(bound.subject, 60)} {format_figure(bound.value)}' would change the row itself"
            for bound in clash.parts
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


def _split_commands(message: str) -> list[str]:
    """Split a message at line ends and ``;``; what a line tries stays one command."""
    parts = [
        part
        for line in message.splitlines()
        for part in ([line] if TRY.match(line) else line.split(";"))
        if part.strip()
    ]
    return [part.strip() for part in parts[:MOST_COMMANDS]]


def _plain_words(text: str) -> str:
    """A text without capitals, brackets and commas, with single spaces."""
    return " ".join(re.sub(r"[\[\],]", " ", re.sub(r"(?<=\d),(?=\d)", "", text.casefold())).split())


def _make_bound(tools: Toolbox, position: int, relation: str, value: float) -> Restriction:
    return Restriction(
        RestrictionKind.BOUND, tools.problem.expressions[position].name, relation=relation, value=value, by=tools.by
    )
