"""Agents by name, and the agents with a language model (Drossman et al. 2026, arXiv:2604.02666).

T-P-P changes the model only through tools. C-P-P, C-P-R and C-N-R write programs.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from oragent._base.errors import ConfigError
from oragent.llm.dialogue import OUT_OF_ROUNDS, Asker, ToolRounds, work_with_tools
from oragent.llm.model import Message, Tool, ToolCall
from oragent.modelling.data.solution import Solution, SolveStatus
from oragent.modelling.solving.model_solving import solve
from oragent.programs.blocks import drop_thoughts, fenced_blocks
from oragent_benchmarks.converse.agents.rules import RulesAgent
from oragent_benchmarks.converse.agents.sandboxed_programs import SandboxedPrograms, renamed_values, silent_errors
from oragent_benchmarks.converse.decider import Agent, AgentAnswer, AgentEvent
from oragent_benchmarks.converse.decision import DecisionProblem, unknown_name_error
from oragent_benchmarks.converse.problems.registry import PUBLISHED
from oragent_benchmarks.converse.prompting import MAX_CALLS, blank_prompt, program_prompt, tools_prompt
from oragent_benchmarks.converse.solving import StateSolver
from oragent_benchmarks.converse.tools import EXTENDED, PAPER, Toolbox

ROLE = "agent"
# Maximum number of rounds of tool calls in one turn.
MAX_ROUNDS = 15
LIMITS = ToolRounds(MAX_ROUNDS, calls=MAX_CALLS, closing=OUT_OF_ROUNDS)


AGENTS = ("T-P-P", "C-P-P", "C-P-R", "C-N-R", "rules")
# Agents of the published comparison, which work only on its problem.
PUBLISHED_ONLY = ("C-P-R", "C-N-R")
# Agents with a language model, and those among them that write programs.
ASKING, PROGRAMMING = AGENTS[:4], AGENTS[1:4]


@dataclass
class ToolsAgent:
    """T-P-P: an agent with the problem in its prompt, tools, and readable solutions."""

    asker: Asker
    tools: Toolbox
    # Sampling temperature; None means the default of the model.
    temperature: float | None = None
    # Parts that the prompt omits.
    without: frozenset[str] = frozenset()
    name: str = "T-P-P"
    messages: list[Message] = field(default_factory=list)

    def __post_init__(self) -> None:
        prompt = tools_prompt(self.tools.problem, self.tools.extended, self.without)
        self.messages = [Message("system", prompt)]

    async def answer(self, message: str) -> AgentAnswer:
        """Answer a message after at most 15 rounds of tool calls."""
        self.messages.append(Message("user", message))
        text = await work_with_tools(
            lambda sent, tools: self.asker.ask(ROLE, sent, self.temperature, tools),
            self.messages,
            self.tools.tools,
            self.tools,
            LIMITS,
        )
        events, solved, calls = self.tools.taken()
        return AgentAnswer(text, events, solved, calls, self.tools.state)

    def note(self, text: str) -> None:
        """Tell the agent about a change of its model that it did not make."""
        self.messages.append(Message("user", f"(The person changed the model directly: {text})"))


SOLVE_S = 20.0
PYTHON = re.compile(r"^(?:import|from)\s+\w|^def\s+\w|^print\(", re.MULTILINE)
# Maximum number of lines of raw values.
MAX_RAW = 400
PROGRAM = {"type": "object", "properties": {"program": {"type": "string"}}, "required": ["program"]}
SUBMIT = Tool("submit_formulation", "Build and solve the model of a program that defines formulate(m, data).", PROGRAM)
RUN = Tool("run_python", "Run a whole Python program; returns what it prints.", PROGRAM)


@dataclass
class Blank:
    """C-N-R: whole programs, at most one per round, without knowledge of the problem.

    Some models do not call tools. If a reply has no tool call but a fenced Python block, the block counts as a call.
    """

    asker: Asker
    programs: SandboxedPrograms
    temperature: float | None = None
    without: frozenset[str] = frozenset()
    messages: list[Message] = field(default_factory=list)
    name: str = "C-N-R"
    tool: Tool = RUN

    def __post_init__(self) -> None:
        self.messages = [Message("system", self.prompt())]

    def prompt(self) -> str:
        """Return the prompt that explains how to run Python."""
        return blank_prompt(self.programs.seconds)

    def ran(self, source: str) -> tuple[AgentEvent, str, bool]:
        """Run a program. Return the event, the decision of a solver, and True if the program calls a solver."""
        printed = self.programs.printed(source)
        solver = any(word in source for word in ("pulp", "highspy", "linprog", "milp(", "ortools", "cvxpy"))
        note = {
            "solver": solver,
            "enumerates": not solver and any(w in source for w in ("itertools", "product(", "for ")),
        }
        return AgentEvent(self.tool.name, {"program": source}, printed.text, printed.failed, note), "", solver

    async def answer(self, message: str) -> AgentAnswer:
        """Answer after at most 15 programs."""
        self.messages.append(Message("user", message))
        events: list[AgentEvent] = []
        solved: list[str] = []
        calls = 0

        def run_program(call: ToolCall) -> str:
            nonlocal calls
            source, problem = _extract_source(call, self.tool)
            if problem:
                event, decision, called = AgentEvent(self.tool.name, {}, f"error: {problem}", failed=True), "", False
            else:
                event, decision, called = self.ran(source)
            events.append(event)
            solved.extend([decision] if decision else [])
            calls += called
            return event.result

        text = await work_with_tools(
            lambda sent, tools: self.asker.ask(ROLE, sent, self.temperature, tools),
            self.messages,
            (self.tool,),
            run_program,
            replace(LIMITS, calls=1),
            read_text_call=lambda reply: _read_fenced_call(reply, self.tool),
        )
        return AgentAnswer(text, tuple(events), tuple(solved), calls)


@dataclass
class Formulating(Blank):
    """C-P-P and C-P-R: the agent writes the formulation; oragent supplies data and solver and reads the solution."""

    problem: DecisionProblem = None  # type: ignore[assignment]  # a dataclass wants a default here
    # True for readable solutions (C-P-P), False for raw values (C-P-R).
    readable: bool = True
    tool: Tool = SUBMIT

    def __post_init__(self) -> None:
        if self.readable:
            self.name = "C-P-P"
        else:
            self.name = "C-P-R"
        super().__post_init__()

    def prompt(self) -> str:
        """Return the prompt with the problem and the form of a submission."""
        return program_prompt(self.problem, self.readable, self.without)

    def ran(self, source: str) -> tuple[AgentEvent, str, bool]:
        """Build the model in the sandbox, solve it in this process, and look for silent errors."""
        built = self.programs.built(source, self.problem.program)
        arguments: Mapping[str, Any] = {"program": source}
        if built.milp is None:
            return AgentEvent(self.tool.name, arguments, f"error: {built.problem}", failed=True), "", False
        solution = solve(built.milp, SOLVE_S, duals=False)
        silent = silent_errors(self.problem, built.milp, solution.values)
        event = AgentEvent(self.tool.name, arguments, "", note={"silent": silent})
        if not solution.status.has_point:
            return replace(event, result=f"status: {solution.status}"), "", True
        values = renamed_values(self.problem.program.naming, solution.values)
        whole = _is_whole(self.problem, values)
        decision = self.problem.decision(values) if whole else ""
        return replace(event, result=self._describe_solution(solution, values, decision)), decision, True

    def _describe_solution(self, solution: Solution, values: Mapping[str, float], decision: str) -> str:
        is_optimal = solution.status is SolveStatus.OPTIMAL
        status = "optimal" if is_optimal else f"feasible, gap {100 * (solution.gap or 0):.2g} %"
        if self.readable and decision:
            return f"status: {status}\n{self.problem.render(decision)}"
        lines = [f"{name} = {value:g}" for name, value in values.items() if abs(value) > 1e-9][:MAX_RAW]
        return "\n".join([f"status: {status}", *lines])


def _is_whole(problem: DecisionProblem, values: Mapping[str, float]) -> bool:
    """Return True if values satisfy every row of the base model that contains only integer variables."""
    integers = {variable.name for variable in problem.base.variable_records if variable.is_integer}
    for row in problem.base.row_records:
        if row.terms and row.terms.keys() <= integers:
            low, high = row.limits
            row_value = sum(value * values.get(name, 0.0) for name, value in row.terms.items())
            if not low - 1e-6 <= row_value <= high + 1e-6:
                return False
    return True


def _extract_source(call: ToolCall, tool: Tool) -> tuple[str, str]:
    source = call.arguments.get("program")
    if call.problem:
        return "", f"{call.problem}; call {tool.name} again with a JSON object"
    if call.name != tool.name:
        return "", f"there is no tool {call.name[:60]!r}; expected {tool.name}"
    if not isinstance(source, str) or not source.strip():
        return "", f"{tool.name} lacks 'program': expected the text of a program"
    return source, ""


def _read_fenced_call(text: str, tool: Tool) -> ToolCall | None:
    """Read the last Python block of a reply as a call; return None if the reply has no block."""
    blocks, _ = fenced_blocks(drop_thoughts(text))
    python = [block.text for block in blocks if PYTHON.search(block.text)]
    if python:
        return ToolCall("", tool.name, {"program": python[-1]})
    return None


@dataclass(frozen=True)
class Design:
    """Design of an agent.

    Attributes:
        tools: Set of tools, ``paper`` or ``extended``.
        temperature: Sampling temperature; None means the default of the model.
        without: Parts that the prompt omits.

    Raises:
        ConfigError: A name is unknown.
    """

    name: str
    tools: str = PAPER
    temperature: float | None = None
    without: frozenset[str] = field(default_factory=frozenset)

    def __post_init__(self) -> None:
        if self.name not in AGENTS:
            raise unknown_name_error(self.name, AGENTS, "agent")
        if self.tools not in (PAPER, EXTENDED):
            raise unknown_name_error(self.tools, (PAPER, EXTENDED), "set of tools")


def expect_fitting_agent(name: str, problem: DecisionProblem) -> None:
    """Check that an agent works on a problem.

    Raises:
        ConfigError: The agent belongs to the published comparison, and this is another problem.
    """
    if name in PUBLISHED_ONLY and problem.name != PUBLISHED:
        raise ConfigError(f"agent {name} works only on the problem {PUBLISHED}: choose T-P-P, C-P-P or rules")


def make_agent(
    design: Design, solver: StateSolver, asker: Asker | None = None, programs: SandboxedPrograms | None = None
) -> Agent:
    """Return an agent for one conversation."""
    if design.name == "rules":
        return RulesAgent(Toolbox(solver, extended=True))
    assert asker is not None
    if design.name == "T-P-P":
        tools = Toolbox(solver, design.tools == EXTENDED)
        return ToolsAgent(asker, tools, design.temperature, design.without)
    assert programs is not None
    if design.name == "C-N-R":
        return Blank(asker, programs, design.temperature, design.without)
    return Formulating(
        asker, programs, design.temperature, design.without, problem=solver.problem, readable=design.name == "C-P-P"
    )
