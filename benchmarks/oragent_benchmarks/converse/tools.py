"""Tools of an optimisation agent: they change and solve the current model, and cannot remove rows of the base model.

Four tools and ``call_solver`` come from Drossman et al. 2026 (arXiv:2604.02666); ``least_possible`` and
``explain_infeasibility`` are additions. A wrong call returns a one-line error.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from oragent._base.errors import ConfigError, OragentError
from oragent.llm.model import Tool, ToolCall
from oragent.modelling.data.model_values import Sense
from oragent.modelling.data.solution import SolveStatus
from oragent_benchmarks.converse.decider import AgentEvent
from oragent_benchmarks.converse.decision import DecisionProblem, Solved, format_figure, unknown_name_error
from oragent_benchmarks.converse.prompting import fill_lines
from oragent_benchmarks.converse.solving import Clash, StateSolver, begin, clash, describe_restriction, in_force
from oragent_benchmarks.converse.state import Restriction, RestrictionKind, RestrictionState

PAPER, EXTENDED = "paper", "extended"
# Maximum number of names in the description of a tool.
MAX_ENUMERATED = 60
# Maximum number of characters of an argument.
MAX_CHARACTERS = 500
NUMBER = {"type": "number"}
TEXT = {"type": "string"}


@dataclass
class Toolbox:
    """The tools of one agent in one conversation, and the current model.

    Attributes:
        solver: Solver of the problem's states; several conversations may share it.
        extended: Whether the additional tools are included.
        by: Author of the changes.
        events: Calls since the last call of ``taken``.
        solved: Decisions that the solver returned since the last call of ``taken``.
        calls: Number of solver calls since the last call of ``taken``.
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
        """The problem."""
        return self.solver.problem

    @property
    def tools(self) -> tuple[Tool, ...]:
        """Descriptions of the tools for a model."""
        words, goals = self.problem.vocabulary, self.problem.expressions
        objective = {"type": "string", "enum": [goal.name for goal in goals[: self.problem.goals]]}
        bounded = {"type": "string", "enum": [goal.name for goal in goals]} if len(goals) <= MAX_ENUMERATED else TEXT
        option = {"type": "string", "enum": list(words.options)} if words.options else TEXT
        units = "; ".join(f"{goal.name}: {goal.model_unit or goal.unit}" for goal in goals[: self.problem.goals])
        properties: dict[str, dict[str, Any]] = {
            words.tool: {words.item: TEXT, words.option: option, "type": {"type": "string", "enum": ["fix", "forbid"]}},
            "change_objective_weight": {"objective": objective, "weight": NUMBER},
            "add_objective_upper_bound": {"objective": bounded, "value": NUMBER},
        }
        if words.lower_bounds:
            properties["add_objective_lower_bound"] = {"objective": bounded, "value": NUMBER}
        properties |= {"remove_constraint": {"name": TEXT}, "call_solver": {}}
        if self.extended:
            properties |= {"least_possible": {"objective": bounded}, "explain_infeasibility": {}}
        texts = fill_lines(
            "tools", fix=words.tool, item=words.item, option=words.option, decision=words.decision, units=units
        )
        return tuple(_make_tool(name, texts[name], arguments) for name, arguments in properties.items())

    def __call__(self, call: ToolCall) -> str:
        """Run a tool call of a model; return a one-line error for a wrong call."""
        arguments = dict(call.arguments)
        try:
            if call.problem:
                raise ConfigError(f"{call.problem}; call {call.name or 'a tool'} again with a JSON object")
            result, failed = self._run_tool(call.name, arguments), False
        except OragentError as problem:
            result, failed = f"error: {problem}", True
        self.events.append(AgentEvent(call.name[:MAX_CHARACTERS], arguments, result, failed))
        return result

    def taken(self) -> tuple[tuple[AgentEvent, ...], tuple[str, ...], int]:
        """Return and clear the events, decisions and number of solver calls."""
        record = tuple(self.events), tuple(self.solved), self.calls
        self.events, self.solved, self.calls = [], [], 0
        return record

    def add(self, restriction: Restriction) -> None:
        """Add a restriction to the current model.

        Raises:
            ConfigError: The problem does not accept the restriction.
        """
        if restriction.kind is not RestrictionKind.BOUND:
            self.problem.rows(restriction.subject, restriction.option, restriction.kind is RestrictionKind.FORBID)
        self.state = self.state.adding(restriction)

    def solve(self) -> Solved:
        """Solve the current model."""
        return self.note_solved(self.solver(self.state))

    def least(self, position: int) -> Solved:
        """Return the best value of an expression under the current restrictions."""
        return self.note_solved(self.solver.least(self.state, position))

    def extreme(self, position: int, sense: Sense) -> Solved:
        """Return the smallest or largest value of an expression under the current restrictions, except its own bounds.

        Raises:
            ConfigError: The problem cannot compute it.
        """
        goal = self.problem.expressions[position]
        if goal.sense is sense:
            return self.least(position)
        rest = [
            each
            for each in self.state.restrictions
            if each.kind is not RestrictionKind.BOUND or each.subject != goal.name
        ]
        solved = self.solver.extreme(self.state.only(*rest), position, sense)
        if solved is None:
            raise ConfigError(
                f"the {'highest' if sense is Sense.MAXIMIZE else 'lowest'} {goal.word} cannot be computed"
            )
        return self.note_solved(solved)

    def clash(self) -> Clash | None:
        """Explain why the current model is infeasible."""
        self.calls += 1
        return clash(self.solver, self.state)

    def note_solved(self, solved: Solved) -> Solved:
        """Count a solver call and store its decision."""
        self.calls += 1
        if solved.decision:
            self.solved.append(solved.decision)
        return solved

    def _run_tool(self, name: str, arguments: dict[str, Any]) -> str:
        tools: dict[str, Callable[[dict[str, Any]], str]] = {
            self.problem.vocabulary.tool: self._fix_option,
            "change_objective_weight": self._set_weight,
            "add_objective_upper_bound": lambda arguments: self._add_bound(arguments, "<="),
            "remove_constraint": self._remove_constraint,
            "call_solver": lambda arguments: describe_solved(self.problem, self.solve()),
        }
        if self.problem.vocabulary.lower_bounds:
            tools["add_objective_lower_bound"] = lambda arguments: self._add_bound(arguments, ">=")
        if self.extended:
            tools |= {
                "least_possible": self._find_least,
                "explain_infeasibility": lambda arguments: self._explain_infeasibility(),
            }
        if name not in tools:
            raise unknown_name_error(name, list(tools), "tool")
        parameters = next(tool.parameters for tool in self.tools if tool.name == name)
        schema = parameters["properties"]
        strange = [key for key in arguments if key not in schema]
        if strange:
            raise unknown_name_error(strange[0], list(schema), f"argument of {name}")
        missing = [key for key in parameters["required"] if key not in arguments]
        if missing:
            raise ConfigError(f"{name} lacks {missing[0]!r}; expected {', '.join(schema)}")
        return tools[name](arguments)

    def _fix_option(self, arguments: dict[str, Any]) -> str:
        words = self.problem.vocabulary
        kind = _check_text(arguments.get("type", "fix"), "type")
        if kind not in ("fix", "forbid"):
            raise unknown_name_error(kind, ["fix", "forbid"], "type")
        item = self.problem.item(_check_text(arguments[words.item], words.item))
        option = self.problem.option(item, _check_text(arguments[words.option], words.option))
        self.add(Restriction(RestrictionKind(kind), item, option, by=self.by))
        return in_force(self.problem, self.state)

    def _set_weight(self, arguments: dict[str, Any]) -> str:
        position = self._find_goal(arguments, self.problem.goals)
        weight = _check_number(arguments["weight"], "weight")
        if weight < 0:
            raise ConfigError(f"a weight must be 0 or more, not {weight:g}")
        self.state = self.state.weighing(position, weight)
        return in_force(self.problem, self.state)

    def _add_bound(self, arguments: dict[str, Any], relation: str) -> str:
        goal = self.problem.expressions[self._find_goal(arguments)]
        value = _check_number(arguments["value"], "value") * goal.scale
        self.add(Restriction(RestrictionKind.BOUND, goal.name, relation=relation, value=value, by=self.by))
        return in_force(self.problem, self.state)

    def _remove_constraint(self, arguments: dict[str, Any]) -> str:
        name = _check_text(arguments["name"], "name")
        if {name, name.partition("[")[0]} & {*self.problem.protected}:
            raise ConfigError(f"{name[:100]} belongs to the base model and cannot be removed")
        self.state = self.state.removing(name)
        return in_force(self.problem, self.state)

    def _find_least(self, arguments: dict[str, Any]) -> str:
        position = self._find_goal(arguments)
        goal, solved = self.problem.expressions[position], self.least(position)
        if not solved.decision:
            return describe_solved(self.problem, solved)
        value = self.problem.features(solved.decision)[position]
        return (
            f"the best possible {goal.name} under the constraints in force is {value / goal.scale:.10g} "
            f"{goal.model_unit or goal.unit}\n{describe_solved(self.problem, solved)}"
        )

    def _explain_infeasibility(self) -> str:
        if conflict := self.clash():
            return clash_in_words(self.problem, conflict)
        return "the constraints in force are feasible: nothing clashes"

    def _find_goal(self, arguments: dict[str, Any], count: int | None = None) -> int:
        name = _check_text(arguments["objective"], "objective")
        names = [goal.name for goal in self.problem.expressions[:count]]
        if name not in names:
            raise unknown_name_error(name, names, "objective")
        return names.index(name)


def describe_solved(problem: DecisionProblem, solved: Solved) -> str:
    """Return the result of a solve in the form of tool results."""
    if not solved.decision:
        return {
            SolveStatus.INFEASIBLE: f"infeasible: no {problem.vocabulary.decision} meets all constraints in force",
            SolveStatus.UNBOUNDED: "unbounded: an objective improves without end; bound it",
        }.get(solved.status, "no solution was found in time; whether there is one is not known")
    proven = (
        "optimal" if solved.status is SolveStatus.OPTIMAL else f"feasible, within {100 * solved.gap:.2g} % of the best"
    )
    return f"status: {proven}\n{problem.render(solved.decision)}"


def clash_in_words(problem: DecisionProblem, conflict: Clash) -> str:
    """Return the explanation of an infeasible state in the form of tool results."""
    if not conflict.parts:
        return "the base model itself is infeasible: no constraint in force is the cause"
    lines = ["these constraints cannot all hold; without any one of them the others can:"]
    lines += [f"- {restriction.name}: {describe_restriction(problem, restriction)}" for restriction in conflict.parts]
    for bound, value in conflict.nearest.items():
        goal = next(goal for goal in problem.expressions if goal.name == bound.subject)
        near = (
            "no value of it will do"
            if value is None
            else (f"the nearest possible value is {value / goal.scale:.10g} {goal.model_unit or goal.unit}")
        )
        lines.append(f"{bound.name}: with all else in force {near}")
    for (item, option), value in conflict.instead.items():
        lines.append(f"with {item} at {option} instead, the first of these bounds could be {format_figure(value)}")
    return "\n".join(lines)


def _make_tool(name: str, description: str, properties: Mapping[str, Any]) -> Tool:
    required = [key for key in properties if key != "type"]
    schema = {"type": "object", "properties": dict(properties), "required": required, "additionalProperties": False}
    return Tool(name, description, schema)


def _check_text(value: object, what: str) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:.12g}"
    if not isinstance(value, str):
        raise ConfigError(f"{what} must be a text, not {str(value)[:40]!r}")
    return value[:MAX_CHARACTERS]


def _check_number(value: object, what: str) -> float:
    number: object = value
    if isinstance(value, str):
        try:
            number = float(value.replace(",", ""))
        except ValueError:
            raise ConfigError(f"{what} must be a number, not {value[:40]!r}") from None
    if isinstance(number, bool) or not isinstance(number, int | float) or not abs(number) < 1e12:
        raise ConfigError(f"{what} must be a number, not {str(value)[:40]!r}")
    return float(number)
