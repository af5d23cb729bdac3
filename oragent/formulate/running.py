"""Run programs and checkers in the sandbox; requests and results are plain data."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from oragent._base.distribution import require_pulp
from oragent._base.errors import ModellingError, SandboxError
from oragent._base.protocol import Status as Ended
from oragent._base.text_format import hide_addresses, join_some
from oragent.formulate.aims import read_stated_aim, staged_objectives
from oragent.formulate.data import map_leaves
from oragent.formulate.model_comparison import ModelComparison, Ruling
from oragent.formulate.problem import ProgramInterface
from oragent.formulate.rules import RuleComparison, read_rules
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.intervals import PlanInterval, read_intervals
from oragent.modelling.data.names import with_families
from oragent.modelling.data.solution import Solution, SolveStatus, SolveVerdict
from oragent.modelling.files.model_json import model_dict, model_from_dict
from oragent.modelling.files.solution_json import solution_dict, solution_from_dict
from oragent.sandbox.messages import PYTHON, Command, Limits
from oragent.sandbox.sandbox import Sandbox

EVALUATOR = Path(__file__).with_name("evaluator.py")
# Maximum size of the JSON with model, solution and returned value, in KiB.
ANSWER_KB = 64 << 10
MESSAGE_CHARACTERS, TRACE_CHARACTERS = 1000, 3000
UNUSABLE = (ModellingError, ArithmeticError, AttributeError, KeyError, RecursionError, TypeError, ValueError)
# Maximum number of names in the message of an error.
MAX_NAMES = 10
# Error with which a program states that its problem has no exact linear model.
REFUSAL = "NotImplementedError: nonlinear"
# Larger integers cannot be converted to floats.
MAX_FIGURE = 1e300
FAILURES = {
    Ended.TIMEOUT: SolveVerdict.TIMEOUT,
    Ended.MEMORY: SolveVerdict.MEMORY,
    Ended.REJECTED: SolveVerdict.COMPILE_ERROR,
}


@dataclass(frozen=True)
class Bounds:
    """Limits of one program.

    Attributes:
        program_s: Seconds of one call of the program, and of the search for the optimum of its model.
        gap: Relative gap between objective and bound at which that search stops.
        memory_mb: Address space, in MiB.
        solver, threads: Back end that solves the model again, empty for a choice by its class, and its threads.
    """

    program_s: float = 20.0
    memory_mb: int = 2048
    gap: float = 0.0
    solver: str = ""
    threads: int = 1


@dataclass(frozen=True)
class ExecutionResult:
    """Result of running a program."""

    # Reason why there is no solution; None if a model was solved, with any status.
    verdict: SolveVerdict | None
    message: str = ""
    # Traceback of the program, from its own code on.
    traceback: str = ""
    # Last model that the program solved.
    milp: IndexedModel | None = None
    # Solution of that model, solved again outside of the program's process.
    solution: Solution | None = None
    # Returned value with the names of the model's columns. Plain numbers are None.
    values: Any = None
    # Returned value with the names of the model's columns; None instead of plain numbers.
    columns: Any = None
    # Objective that the program returned; an unverified claim.
    claimed: float | None = None
    log: str = ""
    # Name and version of the library in which the program wrote the model.
    framework: str = ""
    # True if that model has intervals, machines or cumulative resources.
    is_schedule: bool = False
    # Row or variable by which the program held an objective in later solves, by the name of the objective.
    held: Mapping[str, str] = field(default_factory=dict)
    # Intervals of a schedule.
    intervals: tuple[PlanInterval, ...] = ()

    @property
    def status(self) -> SolveStatus | None:
        """Status of the solution."""
        if self.solution:
            return self.solution.status
        return None

    @property
    def objective(self) -> float | None:
        """Recomputed objective of the solution."""
        if self.solution:
            return self.solution.objective
        return None

    @property
    def aim_values(self) -> tuple[float, ...]:
        """Values of all objectives at the solution, the most important first; empty without a solution."""
        if self.milp is None or self.solution is None or not self.solution.status.has_point:
            return ()
        return tuple(objective.at(self.solution.values) for objective in staged_objectives(self.milp))


@dataclass(frozen=True)
class Report:
    """Output of a checker.

    Attributes:
        problem: Reason why the checker could not run; empty if it ran.
        entries: ``(name, left, relation, right, sentence)`` with numbers.
        comparison: Comparison of its rows with the model; None without rows, with the reason in ``note``.
        sentences: Sentence of the problem by the name of the program's row that states it.
        rules: Rules of both sides, one by one; empty unless they were compared.
    """

    problem: str = ""
    entries: tuple[tuple[str, float, str, float, str], ...] = ()
    comparison: ModelComparison | None = None
    note: str = ""
    sentences: Mapping[str, str] = field(default_factory=dict)
    rules: tuple[RuleComparison, ...] = ()


@dataclass
class FormulationRunner:
    """Runs programs in a shared sandbox."""

    sandbox: Sandbox
    bounds: Bounds = field(default_factory=Bounds)

    def __post_init__(self) -> None:
        # Without PuLP, or with an unsupported version, every program would fail with a different error.
        require_pulp("formulate")

    def run_program(self, source: str, interface: ProgramInterface, data: Mapping[str, Any]) -> ExecutionResult:
        """Run a program on data; several threads may call this.

        Raises:
            SandboxError: The sandbox failed, not the program.
        """
        request = {"kind": "solve", "function": interface.function, "arguments": interface.arguments_for(data)}
        answer = self._evaluate(source, request)
        if answer["status"] == "unsolved":
            values, log = _limit_numbers(answer.get("returned")), answer.get("log", "")
            return ExecutionResult(SolveVerdict.UNSOLVED, answer["message"], values=values, log=log)
        if answer["status"] == "unsupported":
            return ExecutionResult(SolveVerdict.UNSUPPORTED, _stable_text(answer["message"]))
        if answer["status"] != "ok":
            verdict = FAILURES.get(answer["status"], SolveVerdict.RUNTIME_ERROR)
            if REFUSAL in answer["message"]:
                return ExecutionResult(SolveVerdict.UNSUPPORTED, _stable_text(answer["message"].partition(": ")[2]))
            return ExecutionResult(
                verdict, _stable_text(answer["message"]), _stable_text(answer.get("traceback", ""), TRACE_CHARACTERS)
            )
        try:
            return self._read_answer(answer, interface)
        except UNUSABLE as problem:
            message = f"what the program returned cannot be used: {type(problem).__name__}"
            return ExecutionResult(SolveVerdict.RUNTIME_ERROR, message, log=answer.get("log", ""))

    def _read_answer(self, answer: dict[str, Any], interface: ProgramInterface) -> ExecutionResult:
        milp, solution = model_from_dict(answer["milp"]), solution_from_dict(answer["solution"])
        objective, values = interface.split_returned(answer["returned"])
        _, columns = interface.split_returned(answer["columns"])
        if not values:
            # The author of a given program need not know that values are returned.
            values = columns = nest_columns(with_families(milp))
        objective, values = _limit_numbers(objective), _limit_numbers(values)
        claimed = float(objective) if isinstance(objective, int | float) else None
        values = _fill_values(values, columns, solution.values if solution.status.has_point else {})
        return ExecutionResult(
            None,
            milp=milp,
            solution=solution,
            values=values,
            columns=columns,
            claimed=claimed,
            log=answer.get("log", ""),
            framework=str(answer["framework"]),
            is_schedule=answer["is_schedule"] is True,
            held={str(held["name"]): str(held["held_by"]) for held in answer["held"]},
            intervals=read_intervals(answer["intervals"], set(milp.flat_variable_names)),
        )

    def run_checker(
        self, source: str, ran: ExecutionResult, data: Mapping[str, Any], *, compares_rules: bool = False
    ) -> Report:
        """Run a checker on a program's values and its model.

        Args:
            source: Text of the checker.
            ran: Result of the program.
            data: Data of the problem.
            compares_rules: Whether each rule is compared on its own, which takes a solve for each that differs.
        """
        assert ran.milp is not None
        assert ran.solution is not None
        point = ran.solution.status.has_point
        request = {
            "kind": "checks",
            "function": "checks",
            "values": ran.values,
            "columns": ran.columns,
            "data": data,
            "milp": model_dict(ran.milp),
            "solution": solution_dict(ran.solution),
            "point": point,
            "compares_rules": compares_rules,
        }
        answer = self._evaluate(source, request)
        if answer["status"] != "ok":
            return Report(_stable_text(_explain_key(answer["message"], ran.values, data)))
        try:
            entries = tuple((str(n), float(a), str(r), float(b), str(s)) for n, a, r, b, s in answer["entries"])
            comparison = answer["comparison"] and _read_comparison(answer["comparison"])
            rules = read_rules(answer)
        except UNUSABLE as problem:
            return Report(f"the checker's entries are not what they should be: {type(problem).__name__}")
        note, sentences = _stable_text(answer["note"]), answer.get("sentences", {})
        return Report("", entries, comparison or None, note, sentences, rules)

    def _evaluate(self, source: str, request: dict[str, Any]) -> dict[str, Any]:
        bounds = self.bounds
        limits_of_solve = {
            "limit_s": bounds.program_s,
            "gap": bounds.gap,
            "solver": bounds.solver,
            "threads": bounds.threads,
        }
        files = {
            "evaluator.py": EVALUATOR.read_text(encoding="utf-8"),
            "program.py": source,
            "request.json": json.dumps({**request, **limits_of_solve}),
        }
        # The limit is three times the program's seconds, to solve its model again and to search for a comparison.
        limits = Limits(3 * self.bounds.program_s + 10.0, self.bounds.memory_mb, file_mb=64, output_kb=ANSWER_KB)
        # The process prints its answer, so a process that returns a file has seen it, and ends with its command.
        ended = self.sandbox(Command((PYTHON, "evaluator.py"), files, limits=limits), warm_up=EVALUATOR)
        if ended.code == 0 and ended.end == "exited":
            try:
                answer: dict[str, Any] = json.loads(ended.stdout)
            except (ValueError, RecursionError):
                # The middle of the output was cut out.
                answer = {"status": "invalid", "message": f"its model and values take more than {ANSWER_KB >> 10} MiB"}
            return answer
        if ended.end == "deadline":
            return {"status": "timeout", "message": "the program and its solution took too long"}
        if ended.end in ("signalled", "lost") or "MemoryError" in ended.stderr:
            return {"status": "memory", "message": "ran out of memory, or was killed by the kernel"}
        last = ended.stderr.strip().splitlines()[-1:] or ["no word"]
        # The error comes from oragent's own script, because errors of programs have another form.
        if last[0].startswith(("ImportError", "ModuleNotFoundError", "SyntaxError")):
            raise SandboxError(f"the evaluator of programs failed: {last[0][:300]}")
        return {"status": "error", "message": f"what the program returned could not be used: {last[0][:300]}"}


def _read_comparison(plain: dict[str, Any]) -> ModelComparison:
    aims = tuple(map(read_stated_aim, plain["aims"]))
    return ModelComparison(
        **{**plain, "ruling": Ruling(plain["ruling"]), "names": tuple(plain["names"]), "aims": aims},
    )


def _limit_numbers(value: Any) -> Any:
    """Return data with None instead of integers that are too large for a float."""
    return map_leaves(value, lambda leaf: None if isinstance(leaf, int) and abs(leaf) > MAX_FIGURE else leaf)


def nest_columns(model: IndexedModel) -> dict[str, Any]:
    """Nest the names of variables by family and label: ``{"ship": {"Lyon": {"Nice": "ship[Lyon, Nice]"}}}``."""
    names = model.flat_variable_names
    columns: dict[str, Any] = {}
    for family in model.variables:
        for member, position in enumerate(family.positions.tolist()):
            *path, last = (family.name, *model.labels_of(family, member))
            inner = columns
            for key in path:
                inner = inner.setdefault(key, {})
            inner[last] = names[position]
    return columns


def _fill_values(values: Any, columns: Any, point: Mapping[str, float]) -> Any:
    """Return the returned value with the solution's values instead of columns."""
    if isinstance(columns, str):
        return point.get(columns)
    if isinstance(columns, dict) and isinstance(values, dict):
        return {key: _fill_values(item, columns.get(key), point) for key, item in values.items()}
    if isinstance(columns, list) and isinstance(values, list):
        return [_fill_values(item, column, point) for item, column in zip(values, columns, strict=False)]
    return values


def _explain_key(message: str, values: Mapping[str, Any], data: Mapping[str, Any]) -> str:
    """Return the message of a checker's error with the names that it may use, if it used another one."""
    if not message.startswith(KeyError.__name__):
        return message
    names = (join_some([repr(name) for name in given], MAX_NAMES) or "no names" for given in (values, data))
    return "{}; values has {}, data has {}".format(message, *names)


def _stable_text(text: str, width: int = MESSAGE_CHARACTERS) -> str:
    return hide_addresses(text)[:width]
