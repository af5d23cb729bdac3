"""Run programs of agents in the sandbox, and find silent errors in the models that they build."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from oragent._base.distribution import require_pulp
from oragent._base.errors import ModellingError
from oragent._base.text_format import escape_text, hide_addresses
from oragent.modelling.convert.pulp_models import from_pulp_dict
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective, Row
from oragent.modelling.data.model_values import Relation, Sense
from oragent.modelling.data.solution import SolveStatus
from oragent.modelling.solving.model_solving import solve
from oragent.sandbox.messages import PYTHON, Command, Limits
from oragent.sandbox.sandbox import Sandbox
from oragent_benchmarks.converse.decision import DecisionProblem, format_figure
from oragent_benchmarks.converse.problems.programs import ProgramForm

FORMULATING = Path(__file__).with_name("formulating.py")
# Maximum number of characters of output or of a traceback.
MAX_SHOWN_CHARACTERS = 6000
MAX_SOURCE = 100_000
SECONDS = 20.0
LIMITS = Limits(cpu_s=SECONDS, memory_mb=1024, file_mb=16, processes=16, output_kb=32, idle_s=10.0)


TOLERANCE = 1e-5
MAX_ROWS = 60
CHECK_S = 5.0


@dataclass(frozen=True)
class ProgramOutput:
    """Output of a program."""

    # Text of standard output, or the error.
    text: str
    failed: bool


@dataclass(frozen=True)
class BuiltModel:
    """Model that a formulation built."""

    # Model with the names of the program; None after a failure.
    milp: IndexedModel | None
    # Reason of the failure, for the author of the program.
    problem: str = ""


@dataclass(frozen=True)
class SandboxedPrograms:
    """Runs programs in a shared sandbox. Several threads may call it."""

    sandbox: Sandbox
    # CPU seconds of one program.
    seconds: float = SECONDS

    def __post_init__(self) -> None:
        # Without PuLP, or with an unsupported version, every program would fail with a different error.
        require_pulp("formulate")

    def printed(self, source: str) -> ProgramOutput:
        """Run a whole program."""
        ended = self.sandbox(
            Command((PYTHON, "program.py"), {"program.py": source[:MAX_SOURCE]}, limits=LIMITS), warm_up=FORMULATING
        )
        if ended.end == "exited" and ended.code == 0:
            return ProgramOutput(_normalize_output(ended.stdout) or "(it printed nothing)", False)
        reason = ended.reason or f"exit code {ended.code}"
        return ProgramOutput(_normalize_output(f"{ended.stdout}\n{ended.stderr}\n(the program failed: {reason})"), True)

    def built(self, source: str, form: ProgramForm) -> BuiltModel:
        """Build the model of a formulation."""
        files = {
            "formulating.py": FORMULATING.read_text(encoding="utf-8"),
            "program.py": source[:MAX_SOURCE],
            "data.json": json.dumps(form.data),
        }
        command = Command((PYTHON, "formulating.py"), files, limits=LIMITS, bring=("result.json",))
        ended = self.sandbox(command, warm_up=FORMULATING)
        if ended.end != "exited" or ended.code != 0 or "result.json" not in ended.files:
            return BuiltModel(
                None, _normalize_output(f"{ended.stderr}\n(the program failed: {ended.reason or ended.code})")
            )
        try:
            result = json.loads(ended.files["result.json"])
            return BuiltModel(from_pulp_dict(result["model"], float(result["constant"])))
        except ModellingError as problem:
            return BuiltModel(None, f"the model cannot be used: {problem}")
        except (KeyError, TypeError, ValueError, RecursionError) as problem:
            return BuiltModel(None, f"the model cannot be used: {type(problem).__name__}")


def _normalize_output(text: str) -> str:
    """Return reproducible text of limited length, without memory addresses."""
    shown = escape_text(hide_addresses(text)).strip()
    half = MAX_SHOWN_CHARACTERS // 2
    if len(shown) <= MAX_SHOWN_CHARACTERS:
        return shown
    return f"{shown[:half]}\n[...]\n{shown[-half:]}"


def renamed_values(naming: Callable[[str], str | None], values: Mapping[str, float]) -> dict[str, float]:
    """Return values with the names of the base model. Variables without such a name are left out."""
    return {base_name: value for name, value in values.items() if (base_name := naming(name)) is not None}


def silent_errors(problem: DecisionProblem, milp: IndexedModel, values: Mapping[str, float]) -> list[str]:
    """List the differences between a solved model and the base model.

    A base row is reported if a feasible point of the model violates it. An objective is reported if the model gives the
    decision another value than the base model.

    Args:
        problem: Base problem.
        milp: Model with the names of the program.
        values: Values of its solution with the same names; empty without a solution.
    """
    naming, prefix = problem.program.naming, problem.program.prefix
    names = {
        base_name: variable.name
        for variable in milp.variable_records
        if (base_name := naming(variable.name)) is not None
    }
    integers = [variable.name for variable in problem.base.variable_records if variable.is_integer]
    strange = [
        variable.name
        for variable in milp.variable_records
        if prefix and naming(variable.name) is None and variable.name.startswith(prefix)
    ]
    errors = [f"variable {strange[0][:60]} is none of the problem's: an index is off"] if strange else []
    missing = [name for name in integers if name not in names]
    if missing:
        errors.append(f"{missing[0]} is not in the model, and {len(missing) - 1} more")
    return [*errors, *_check_rows(problem, milp, names), *_check_objectives(problem, milp, names, values)]


def _check_rows(problem: DecisionProblem, milp: IndexedModel, names: Mapping[str, str]) -> list[str]:
    whole = {variable.name for variable in problem.base.variable_records if variable.is_integer}
    rows = [row for row in problem.base.row_records if row.terms and row.terms.keys() <= (whole or row.terms.keys())]
    broken = []
    for row in rows[:MAX_ROWS]:
        terms = {names[name]: value for name, value in row.terms.items() if name in names}
        if any(_is_beyond_row(milp, terms, row, sense) for sense in (Sense.MINIMIZE, Sense.MAXIMIZE)):
            broken.append(f"{row.name} ({row.meaning[:60]}) does not hold")
    return broken


def _is_beyond_row(milp: IndexedModel, terms: Mapping[str, float], row: Row, sense: Sense) -> bool:
    """Return True if a feasible point of the model violates a base row on one side."""
    if row.relation is not Relation.EQUAL and (row.relation is Relation.AT_MOST) != (sense is Sense.MAXIMIZE):
        return False
    extreme = solve(milp.with_records(objective=Objective(terms), sense=sense), CHECK_S, duals=False)
    if extreme.status is SolveStatus.UNBOUNDED:
        return True
    if not extreme.status.has_point or extreme.objective is None:
        return False
    over = extreme.objective - row.rhs
    return (over if sense is Sense.MAXIMIZE else -over) > TOLERANCE * max(1.0, abs(row.rhs))


def _check_objectives(
    problem: DecisionProblem, milp: IndexedModel, names: Mapping[str, str], values: Mapping[str, float]
) -> list[str]:
    renamed = renamed_values(problem.program.naming, values)
    integers = [
        variable.name for variable in problem.base.variable_records if variable.is_integer and variable.name in names
    ]
    if not values or not integers:
        return []
    fixed = [Row(f"at {name}", {names[name]: 1.0}, Relation.EQUAL, round(renamed[name])) for name in integers]
    truth = problem.features(problem.decision(renamed))
    errors = []
    for goal, true in zip(problem.expressions[: problem.goals], truth, strict=False):
        if not goal.terms.keys() <= names.keys():
            continue
        terms = {names[name]: value for name, value in goal.terms.items()}
        milp_at = milp.with_records(
            rows=(*milp.row_records, *fixed), objective=Objective(terms, goal.constant), sense=goal.sense
        )
        least = solve(milp_at, CHECK_S, duals=False)
        if least.objective is not None and abs(least.objective * goal.scale - true) > 0.01 * max(1.0, abs(true)):
            errors.append(
                f"{goal.word} is {format_figure(true)}, and {format_figure(least.objective * goal.scale)} in the model"
            )
    return errors
