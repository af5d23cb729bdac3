"""The tools of an optimisation agent: they change the model in force and solve it, and cannot break its base.

Four tools and ``call_solver`` are those of Drossman et al. 2026 (arXiv:2604.02666); ``least_possible`` and
``explain_infeasibility`` are ours. A wrong call returns one line.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from oragent._base.errors import ConfigError, OragentError
from oragent.converse.agents.agent import AgentEvent
from oragent.converse.decision import DecisionProblem, Solved, figure, unknown
from oragent.converse.model_changes import ChangeRequest, Verb, compared, loose_bound, with_change
from oragent.converse.optional_protocols import Editable
from oragent.converse.solving import Clash, StateSolver, begin, clash, in_force, problem_in_force, told
from oragent.converse.state import Restriction, RestrictionKind, RestrictionState
from oragent.llm.model import Tool, ToolCall
from oragent.milp.model import Sense
from oragent.milp.solution import SolveStatus

PAPER, EXTENDED = "paper", "extended"
MOST_ENUMERATED = 60  # names that the description of a tool lists
MOST_CHARACTERS = 500  # of a text in an argument
NUMBER = {"type": "number"}
TEXT = {"type": "string"}


@dataclass
class Toolbox:
    """The tools of one agent in one conversation, and the model that they change.

    Attributes:
        solver: Solver of the problem's states, perhaps shared with other conversations.
        extended: Whether the tools of our own are among them.
        by: Who asks for what is changed.
        state: Model in force.
        events: Calls since they were last taken.
        solved: Decisions that the solver returned since they were last taken.
        calls: Number of calls of the solver since it was last taken.
    """

    solver: StateSolver
    extended: bool = False
    by: str = "agent"
    state: RestrictionState = field(init=False)
    events: list[AgentEvent] = field(default_factory=list)
    solved: list[str] = field(default_factory=list)
    calls: int = 0

    def __post_init__(self) -> None:
        self.state = begin(self.solver.problem)

    @property
    def problem(self) -> DecisionProblem:
        """The problem, with the changes of the model in force."""
        return problem_in_force(self.solver.problem, self.state)

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools as a model is told of them."""
        words, goals = self.problem.vocabulary, self.problem.expressions
        objective = {"type": "string", "enum": [goal.name for goal in goals[: self.problem.goals]]}
        bounded = {"type": "string", "enum": [goal.name for goal in goals]} if len(goals) <= MOST_ENUMERATED else TEXT
        option = {"type": "string", "enum": list(words.options)} if words.options else TEXT
        units = "; ".join(f"{goal.name}: {goal.model_unit or goal.unit}" for goal in goals[: self.problem.goals])
        kind = {"type": "string", "enum": ["fix", "forbid"]}
        found = [
            _tool(words.tool, f"Fix a {words.item} at a {words.option}, or forbid it. Replaces what conflicts with it. "
                  "Returns the model in force.", {words.item: TEXT, words.option: option, "type": kind}),
            _tool("change_objective_weight", "Set the weight of an objective, 0 or more. Returns the model in force.",
                  {"objective": objective, "weight": NUMBER}),
            _tool("add_objective_upper_bound", "Keep an expression at or below a value. Replaces an earlier upper "
                  f"bound on it. Units: {units}. Returns the model in force.",
                  {"objective": bounded, "value": NUMBER}),
            _tool("remove_constraint", "Remove a constraint in force by its name. Returns the model in force.",
                  {"name": TEXT}),
            _tool("call_solver", f"Solve the model in force. Returns the best {words.decision} with its objectives, or "
                  "that there is none.", {}),
        ]  # fmt: skip
        if words.lower_bounds:
            found.insert(3, _tool("add_objective_lower_bound", "Keep an expression at or above a value. Returns the "
                                  "model in force.", {"objective": bounded, "value": NUMBER}))  # fmt: skip
        if self.extended:
            found += [
                _tool("least_possible", "The best value that one expression alone can have under the constraints in "
                      f"force, and a {words.decision} that reaches it.", {"objective": bounded}),
                _tool("explain_infeasibility", "Which constraints in force cannot hold together, and the nearest value "
                      "that is possible for each bound among them.", {}),
            ]  # fmt: skip
        if self.can_change:
            found += CHANGE_TOOLS
        return tuple(found)

    @property
    def can_change(self) -> bool:
        """Whether the model's own rows, bounds and coefficients can be changed."""
        return self.extended and isinstance(self.solver.problem, Editable)

    def __call__(self, call: ToolCall) -> str:
        """Do what a model asks for; what is wrong with the call comes back in one line."""
        arguments = dict(call.arguments)
        try:
            if call.problem:
                raise ConfigError(f"{call.problem}; call {call.name or 'a tool'} again with a JSON object")
            result, failed = self._do(call.name, arguments), False
        except OragentError as problem:
            result, failed = f"error: {problem}", True
        self.events.append(AgentEvent(call.name[:MOST_CHARACTERS], arguments, result, failed))
        return result

    def taken(self) -> tuple[tuple[AgentEvent, ...], tuple[str, ...], int]:
        """Events, decisions and calls of the solver since they were last taken."""
        found = tuple(self.events), tuple(self.solved), self.calls
        self.events, self.solved, self.calls = [], [], 0
        return found

    def add(self, restriction: Restriction) -> str:
        """Put a restriction in force; a bound that the model's own limit makes superfluous is not added.

        Returns:
            What to say of such a bound; else empty.
        """
        self.problem_rows(restriction)
        note = loose_bound(self.problem, restriction) if restriction.kind is RestrictionKind.BOUND else ""
        if note:
            for old in self.state.restrictions:
                if restriction.displaces(old):
                    self.state = self.state.removing(old.name)
            return note
        self.state = self.state.adding(restriction)
        return ""

    def change(self, request: ChangeRequest) -> str:
        """Change the model itself and say how: the old and the new value."""
        self.state, line = with_change(self.solver.problem, self.state, request)
        return line

    def problem_rows(self, restriction: Restriction) -> None:
        """See that the problem knows a restriction; ``ConfigError`` where it does not."""
        if restriction.kind is not RestrictionKind.BOUND:
            self.problem.rows(restriction.subject, restriction.option, restriction.kind is RestrictionKind.FORBID)

    def solve(self) -> Solved:
        """Solve the model in force."""
        return self.noted(self.solver(self.state))

    def least(self, place: int) -> Solved:
        """The best that an expression can be under what is in force."""
        return self.noted(self.solver.least(self.state, place))

    def extreme(self, place: int, sense: Sense) -> Solved:
        """The least or the most that an expression can be under what is in force, its own bounds aside.

        Raises:
            ConfigError: The problem cannot compute it.
        """
        goal = self.problem.expressions[place]
        if goal.sense is sense:
            return self.least(place)
        rest = [
            one for one in self.state.restrictions if one.kind is not RestrictionKind.BOUND or one.subject != goal.name
        ]
        found = self.solver.extreme(self.state.only(*rest), place, sense)
        if found is None:
            raise ConfigError(
                f"the {'highest' if sense is Sense.MAXIMIZE else 'lowest'} {goal.word} cannot be computed"
            )
        return self.noted(found)

    def clash(self) -> Clash | None:
        """Why nothing is possible under what is in force."""
        self.calls += 1
        return clash(self.solver, self.state)

    def noted(self, found: Solved) -> Solved:
        """Count a call of the solver and keep what it found."""
        self.calls += 1
        if found.decision:
            self.solved.append(found.decision)
        return found

    def _do(self, name: str, arguments: dict[str, Any]) -> str:
        tools: dict[str, Callable[[dict[str, Any]], str]] = {
            self.problem.vocabulary.tool: self._fix,
            "change_objective_weight": self._weigh,
            "add_objective_upper_bound": lambda given: self._bound(given, "<="),
            "remove_constraint": self._remove,
            "call_solver": lambda given: found_in_words(self.problem, self.solve()),
        }
        if self.problem.vocabulary.lower_bounds:
            tools["add_objective_lower_bound"] = lambda given: self._bound(given, ">=")
        if self.extended:
            tools |= {"least_possible": self._least, "explain_infeasibility": lambda given: self._explain()}
        if self.can_change:
            tools |= {f"{verb}_model": partial(self._change, verb) for verb in Verb}
            tools["search_model"] = self._search
        if name not in tools:
            raise unknown(name, list(tools), "tool")
        parameters = next(tool.parameters for tool in self.tools if tool.name == name)
        schema = parameters["properties"]
        strange = [key for key in arguments if key not in schema]
        if strange:
            raise unknown(strange[0], list(schema), f"argument of {name}")
        missing = [key for key in parameters["required"] if key not in arguments]
        if missing:
            raise ConfigError(f"{name} lacks {missing[0]!r}; expected {', '.join(schema)}")
        return tools[name](arguments)

    def _fix(self, arguments: dict[str, Any]) -> str:
        words = self.problem.vocabulary
        kind = _text(arguments.get("type", "fix"), "type")
        if kind not in ("fix", "forbid"):
            raise unknown(kind, ["fix", "forbid"], "type")
        item = self.problem.item(_text(arguments[words.item], words.item))
        option = self.problem.option(item, _text(arguments[words.option], words.option))
        self.add(Restriction(RestrictionKind(kind), item, option, by=self.by))
        return in_force(self.problem, self.state)

    def _weigh(self, arguments: dict[str, Any]) -> str:
        place = self._goal(arguments, self.problem.goals)
        weight = _number(arguments["weight"], "weight")
        if weight < 0:
            raise ConfigError(f"a weight must be 0 or more, not {weight:g}")
        self.state = self.state.weighing(place, weight)
        return in_force(self.problem, self.state)

    def _bound(self, arguments: dict[str, Any], relation: str) -> str:
        goal = self.problem.expressions[self._goal(arguments)]
        value = _number(arguments["value"], "value") * goal.scale
        note = self.add(Restriction(RestrictionKind.BOUND, goal.name, relation=relation, value=value, by=self.by))
        return "\n".join(filter(None, [note, in_force(self.problem, self.state)]))

    def _search(self, arguments: dict[str, Any]) -> str:
        assert isinstance(self.problem, Editable)
        return self.problem.search(_text(arguments["text"], "text"))

    def _change(self, verb: Verb, arguments: dict[str, Any]) -> str:
        relation = _text(arguments.get("relation", ""), "relation")
        if relation not in ("", "<=", ">=", "="):
            raise unknown(relation, ["<=", ">=", "="], "relation")
        amount = next((arguments[key] for key in ("value", "factor", "amount") if key in arguments), 0)
        before, request = self.state, ChangeRequest(
            verb, _text(arguments["part"], "part"), _text(arguments.get("variable", ""), "variable"), relation,
            _number(amount, "the amount"),
        )  # fmt: skip
        line = self.change(request)
        self.noted(self.solver(self.state))
        return f"{line}\n{compared(self.solver, before, self.state)}\n{in_force(self.problem, self.state)}"

    def _remove(self, arguments: dict[str, Any]) -> str:
        name = _text(arguments["name"], "name")
        changed = any(change.name == name for change in self.state.changes)
        if not changed and {name, name.partition("[")[0]} & {*self.problem.protected}:
            way = f"; 'drop {name[:100]}' takes its limit away" if self.can_change else ""
            raise ConfigError(f"{name[:100]} belongs to the base model and cannot be removed{way}")
        self.state = self.state.removing(name)
        return in_force(self.problem, self.state)

    def _least(self, arguments: dict[str, Any]) -> str:
        place = self._goal(arguments)
        goal, found = self.problem.expressions[place], self.least(place)
        if not found.decision:
            return found_in_words(self.problem, found)
        value = self.problem.features(found.decision)[place]
        return (
            f"the best possible {goal.name} under the constraints in force is {value / goal.scale:.10g} "
            f"{goal.model_unit or goal.unit}\n{found_in_words(self.problem, found)}"
        )

    def _explain(self) -> str:
        found = self.clash()
        return (
            clash_in_words(self.problem, found) if found else "the constraints in force are feasible: nothing clashes"
        )

    def _goal(self, arguments: dict[str, Any], most: int | None = None) -> int:
        name = _text(arguments["objective"], "objective")
        names = [goal.name for goal in self.problem.expressions[:most]]
        if name not in names:
            raise unknown(name, names, "objective")
        return names.index(name)


def found_in_words(problem: DecisionProblem, found: Solved) -> str:
    """What the solver came to, as tools return it."""
    if not found.decision:
        return {
            SolveStatus.INFEASIBLE: f"infeasible: no {problem.vocabulary.decision} meets all constraints in force",
            SolveStatus.UNBOUNDED: "unbounded: an objective improves without end; bound it",
        }.get(found.status, "no solution was found in time; whether there is one is not known")
    proven = (
        "optimal" if found.status is SolveStatus.OPTIMAL else f"feasible, within {100 * found.gap:.2g} % of the best"
    )
    return f"status: {proven}\n{problem.render(found.decision)}"


def clash_in_words(problem: DecisionProblem, found: Clash) -> str:
    """Why nothing is possible, as tools return it."""
    if not found.parts:
        rows = f": {'; '.join(found.own)} cannot all hold" if found.own else ""
        return f"the base model itself is infeasible: no constraint in force is the cause{rows}"
    lines = ["these constraints cannot all hold; without any one of them the others can:"]
    lines += [f"- {one.name}: {told(problem, one)}" for one in found.parts]
    for bound, value in found.nearest.items():
        goal = next(goal for goal in problem.expressions if goal.name == bound.subject)
        near = "no value of it will do" if value is None else (
            f"the nearest possible value is {value / goal.scale:.10g} {goal.model_unit or goal.unit}")  # fmt: skip
        lines.append(f"{bound.name}: with all else in force {near}")
    for (item, option), value in found.instead.items():
        lines.append(f"with {item} at {option} instead, the first of these bounds could be {figure(value)}")
    lines += [f"the model's own part in it: {'; '.join(found.own)}"] if found.own else []
    return "\n".join(lines)


def _tool(name: str, description: str, properties: Mapping[str, Any], optional: tuple[str, ...] = ("type",)) -> Tool:
    required = [key for key in properties if key not in optional]
    schema = {"type": "object", "properties": dict(properties), "required": required, "additionalProperties": False}
    return Tool(name, description, schema)


def _text(value: object, what: str) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:.12g}"
    if not isinstance(value, str):
        raise ConfigError(f"{what} must be a text, not {str(value)[:40]!r}")
    return value[:MOST_CHARACTERS]


def _number(value: object, what: str) -> float:
    number: object = value
    if isinstance(value, str):
        try:
            number = float(value.replace(",", ""))
        except ValueError:
            raise ConfigError(f"{what} must be a number, not {value[:40]!r}") from None
    if isinstance(number, bool) or not isinstance(number, int | float) or not abs(number) < 1e12:
        raise ConfigError(f"{what} must be a number, not {str(value)[:40]!r}")
    return float(number)


RELATION = {"type": "string", "enum": ["<=", ">=", "="]}
COEFFICIENT = " With 'variable': its coefficient in that row or objective. Returns the values before and after."
CHANGE_TOOLS = [
    _tool("set_model", "Change the model itself: another limit of a row, bound of a variable (with 'relation'), or "
          f"coefficient.{COEFFICIENT}", {"part": TEXT, "value": NUMBER, "variable": TEXT, "relation": RELATION},
          ("variable", "relation")),
    _tool("scale_model", f"Multiply the limit of a row, the bounds of a variable, or a coefficient.{COEFFICIENT}",
          {"part": TEXT, "factor": NUMBER, "variable": TEXT}, ("variable",)),
    _tool("search_model", "Rows and variables of the model whose name or meaning has all words of a text, with terms, "
          "limits and units.", {"text": TEXT}),
    _tool("relax_model", "Let the limit of a row, or the largest value of a variable, give way by an amount. Returns "
          "the values before and after.", {"part": TEXT, "amount": NUMBER}),
    _tool("drop_model", "Remove the limit of a row, the largest value of a variable, or a term of a row."
          f"{COEFFICIENT}", {"part": TEXT, "variable": TEXT}, ("variable",)),
]  # fmt: skip
