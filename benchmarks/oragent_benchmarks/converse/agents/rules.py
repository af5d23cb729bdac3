"""Agent that executes exact commands, for evaluations without a language model. A solver proves its answers."""

import re
from dataclasses import dataclass, field

from oragent._base.errors import ConfigError, OragentError
from oragent.llm.model import ToolCall
from oragent.modelling.data.model_values import Sense
from oragent.modelling.data.solution import SolveStatus
from oragent_benchmarks.converse.agents.rule_commands import HELP, RELATIONS, no_command_error, parse_figure
from oragent_benchmarks.converse.decider import AgentAnswer
from oragent_benchmarks.converse.decision import Solved, format_figure, goal_named
from oragent_benchmarks.converse.decision_changes import describe_changes, objectives_in_words
from oragent_benchmarks.converse.solving import Clash, begin
from oragent_benchmarks.converse.state import Restriction, RestrictionKind
from oragent_benchmarks.converse.tools import Toolbox

BOUND = re.compile(r"(?i)(.+?)\s*(<=|>=|<|>|≤|≥)\s*([-+]?[\d.,]+(?:e[-+]?\d+)?)")
ELSE = re.compile(r"\s+else\s+")
SENSES = {
    "lowest": Sense.MINIMIZE,
    "least": Sense.MINIMIZE,
    "highest": Sense.MAXIMIZE,
    "most": Sense.MAXIMIZE,
    "best": None,
}
NO_CHANGE = "nothing changed"
MAX_COMMANDS = 50


@dataclass
class RulesAgent:
    """An agent that follows commands.

    Attributes:
        tools: Tools of the agent, which contain the current model.
    """

    tools: Toolbox
    name: str = "rules"
    _shown: str = field(default="", init=False)
    _changed: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self._shown = self.tools.problem.default

    async def answer(self, message: str) -> AgentAnswer:
        """Run the commands of a message and return the answer.

        ``else`` separates alternatives. If an alternative is infeasible, the next one starts from the original state.
        """
        begun = self.tools.state
        lines: list[str] = []
        for alternative in ELSE.split(message.strip()):
            self.tools.state = begun
            lines = self._run_commands(alternative)
            if not any(line.startswith("infeasible") for line in lines):
                break
        events, solved, calls = self.tools.taken()
        return AgentAnswer("\n".join(lines), events, solved, calls, self.tools.state)

    def _run_commands(self, message: str) -> list[str]:
        commands = _split_commands(message)
        lines, begun = [], self.tools.state
        self._changed = False
        try:
            for command in commands or ["help"]:
                reply = self._run_command(command)
                if reply:
                    lines += [reply]
            if not self._changed:
                return lines
            return [*lines, self._describe_solved(self._call_tool("call_solver", {}))]
        except OragentError as problem:
            # A request is applied completely or not at all.
            self.tools.state = begun
            return [*([] if self._changed else lines), f"not understood: {problem}"]

    def _run_command(self, command: str) -> str:
        """Run one command and return its answer. The caller solves the changed model at the end."""
        verb, _, rest = command.partition(" ")
        word, rest, earlier_state = verb.casefold(), rest.strip(), self.tools.state
        if self._modify_state(word, rest, command):
            self._changed |= self.tools.state is not earlier_state
            return ""
        if word == "reset" and rest.casefold() in ("", "all"):
            self.tools.state = begin(self.tools.problem)
            self._changed |= bool(rest)
            return ""
        if word in SENSES and rest:
            position = goal_named(self.tools.problem, rest)
            solved = self.tools.extreme(position, SENSES[word] or self.tools.problem.expressions[position].sense)
            return self._describe_probe(word, position, solved)
        if word == "help" and not rest:
            return HELP
        raise no_command_error(command)

    def _modify_state(self, word: str, rest: str, command: str) -> bool:
        """Run a command that changes the current model; return False for any other command."""
        if bound_match := BOUND.fullmatch(command):
            self._add_bound(*bound_match.groups())
        elif word == "remove" and rest:
            self._call_tool("remove_constraint", {"name": self._resolve_removal(rest)})
        elif word in ("fix", "forbid") and rest:
            self._fix_item(word, rest.split())
        elif word == "weight" and rest:
            self._set_weight(rest)
        elif word == "undo" and not rest:
            self.tools.state = self.tools.state.undone()
        else:
            return False
        return True

    def _resolve_removal(self, text: str) -> str:
        """Return the name of the request to which a text refers: by name, by words, or by the words of its subject."""
        meant = _plain_words(text)
        words = {goal.name: goal.word for goal in self.tools.problem.expressions}
        names = []
        for restriction in self.tools.state.restrictions:
            is_bound = restriction.kind is RestrictionKind.BOUND
            word = words[restriction.subject] if is_bound else self.tools.problem.short(restriction.subject)
            shown_texts = (restriction.name, self._describe_restriction(restriction), restriction.subject, word)
            if meant in map(_plain_words, shown_texts):
                names.append(restriction.name)
        if len(names) > 1 and text not in names:
            raise ConfigError(f"{text[:60]!r} can mean {' or '.join(names)}; name one of them")
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
                wrong = wrong or unknown if count < len(words) - 1 else unknown
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

    def _add_bound(self, name: str, relation: str, number: str) -> None:
        position = goal_named(self.tools.problem, name)
        try:
            value = parse_figure(number)
        except ValueError:
            raise ConfigError(f"{number!r} is not a number; expected for example {name.strip()} <= 12") from None
        self.tools.add(_make_bound(self.tools, position, RELATIONS.get(relation, relation), value))

    def _set_weight(self, rest: str) -> None:
        name, _, number = rest.strip().rpartition(" ")
        position = goal_named(self.tools.problem, name or number)
        goal = self.tools.problem.expressions[position]
        self._call_tool("change_objective_weight", {"objective": goal.name, "weight": number})

    def _call_tool(self, tool: str, arguments: dict[str, object]) -> Solved:
        """Call a tool in the same way as a model does."""
        result = self.tools(ToolCall("", tool, arguments))
        if self.tools.events[-1].failed:
            raise ConfigError(result.removeprefix("error: "))
        if tool == "call_solver":
            return self.tools.solver(self.tools.state)
        return Solved(SolveStatus.UNKNOWN)

    def _describe_solved(self, solved: Solved) -> str:
        """Describe a solution and its changes, or the reason why there is no solution."""
        if not solved.decision:
            return self._describe_missing(solved)
        summary, changes = self._summarize_solved(solved), self._list_changes(solved)
        self._shown = solved.decision
        return f"{summary}; {changes}\n\n{self.tools.problem.render(solved.decision)}"

    def _describe_probe(self, word: str, position: int, solved: Solved) -> str:
        """Describe the solution with the smallest or largest value of an expression. The state does not change."""
        if not solved.decision:
            return self._describe_missing(solved)
        headline = self._describe_extreme(word, position, solved)
        if not headline:
            headline = f"{self._summarize_solved(solved)}; {self._list_changes(solved)}"
        return f"{headline}\n\n{self.tools.problem.render(solved.decision)}"

    def _describe_extreme(self, word: str, position: int, solved: Solved) -> str:
        """Describe the smallest or largest value of a row or variable that is not in the objectives."""
        problem = self.tools.problem
        if position < problem.goals:
            return ""
        value = format_figure(problem.features(solved.decision)[position])
        name = problem.expressions[position].word
        return f"the {word} possible {name} is {value}, with {self._summarize_solved(solved)}"

    def _describe_missing(self, solved: Solved) -> str:
        """Explain why there is no solution."""
        clash = self.tools.clash() if solved.status is SolveStatus.INFEASIBLE else None
        if clash:
            return self._describe_clash(clash)
        return f"{solved.status}: no {self.tools.problem.vocabulary.decision} found"

    def _list_changes(self, solved: Solved) -> str:
        """List the differences of a solution from the one shown before."""
        return describe_changes(self.tools.problem, self._shown, solved.decision) or NO_CHANGE

    def _summarize_solved(self, solved: Solved) -> str:
        problem = self.tools.problem
        return ", ".join(filter(None, [problem.headline(solved.decision), objectives_in_words(problem, solved)]))

    def _describe_restriction(self, restriction: Restriction) -> str:
        problem = self.tools.problem
        if restriction.kind is RestrictionKind.BOUND:
            goal = next(goal for goal in problem.expressions if goal.name == restriction.subject)
            return f"{goal.word} {restriction.relation} {format_figure(restriction.value)}"
        option = problem.vocabulary.brief(restriction.option)
        negation = "not " if restriction.kind is RestrictionKind.FORBID else ""
        return f"{problem.short(restriction.subject)} {negation}{option}"

    def _describe_clash(self, clash: Clash) -> str:
        if not clash.parts:
            return "infeasible: the model itself, without any request"
        names = [self._describe_restriction(restriction) for restriction in clash.parts]
        parts = [f"{' and '.join(names)} {'clash' if len(names) > 1 else 'is impossible'}"]
        for bound, value in clash.nearest.items():
            goal = next(goal for goal in self.tools.problem.expressions if goal.name == bound.subject)
            which = f" {goal.word}" if len(clash.nearest) > 1 else ""
            extreme = "least" if bound.upper else "most"
            if value is not None:
                parts.append(f"the {extreme} possible{which} is {format_figure(value)}")
        if clash.instead:
            # If only one item is fixed, its name is not repeated.
            several, brief = len({item for item, _ in clash.instead}) > 1, self.tools.problem.vocabulary.brief
            moved = [
                f"{f'{self.tools.problem.short(item)} ' if several else ''}at {brief(option)} {format_figure(value)}"
                for (item, option), value in clash.instead.items()
            ]
            parts.append(", ".join(moved))
        return f"infeasible: {'; '.join(parts)}"


def _split_commands(message: str) -> list[str]:
    """Split a message at line ends and ``;``."""
    parts = [part.strip() for line in message.splitlines() for part in line.split(";")]
    return [part for part in parts if part][:MAX_COMMANDS]


def _plain_words(text: str) -> str:
    """Return a text in lower case without brackets and commas, with single spaces."""
    return " ".join(re.sub(r"[\[\],]", " ", re.sub(r"(?<=\d),(?=\d)", "", text.casefold())).split())


def _make_bound(tools: Toolbox, position: int, relation: str, value: float) -> Restriction:
    return Restriction(
        RestrictionKind.BOUND, tools.problem.expressions[position].name, relation=relation, value=value, by=tools.by
    )
