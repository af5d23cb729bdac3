"""Tools for problems: list, describe, evaluate, probe, sweep, make, check."""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from statistics import mean
from typing import Annotated, Any, Literal

from pydantic import Field

from oragent._base.errors import ConfigError
from oragent._base.racing import displayed_metrics, read_instance_values
from oragent._base.text_format import one_line
from oragent.api.experiments import evaluate as evaluate_program
from oragent.api.experiments import probe as probe_program
from oragent.api.experiments import sweep as sweep_program
from oragent.api.mcp.answers import page_of, page_of_text, quote_output
from oragent.api.mcp.registry import ToolEntry, describe_tool
from oragent.api.mcp.workplace import Workplace
from oragent.api.run_documents import describe_listed_problem
from oragent.authoring import contract, scaffold
from oragent.evaluation import Evaluation
from oragent.evaluation.problem import LimitSettings, Problem, list_problems
from oragent.programs.inspection import find_unseeded
from oragent.sandbox.isolation.environment import environment_by_hand
from oragent.search.experiments import CPU_S
from oragent.search.genetics.variation import child_of_seed
from oragent.search.prompting.prompt_templates import describe_test_limits, describe_time_limits
from oragent.search.strategies.submitted import Submission

# Limit of a report on the machine.
DOCTOR_S = 120.0
# Metric that counts calls of the heuristic, which follows from the instances.
CALLS = "heuristic_calls"
# Maximum number of rows of a sweep in an answer.
ROWS = 12
Part = Literal["text", "seed", "knowledge"]
Mode = Literal["train", "val"]

ProblemName = Annotated[str, Field(description="Name, or folder in the server's folder.")]
Program = Annotated[str, Field(description="Whole text of the program.")]
Page = Annotated[int, Field(ge=1)]
Seconds = Annotated[float, Field(gt=0, le=600, description="CPU seconds.")]
Sizes = Annotated[list[int], Field(description="Empty: all.")]


def describe_evaluation(evaluation: Evaluation) -> dict[str, object]:
    """Return an evaluation as an object; the program's output is quoted as untrusted."""
    metrics = displayed_metrics(evaluation.metrics)
    if metrics.get("instances_done") == metrics.get("instances_planned"):
        metrics = {name: value for name, value in metrics.items() if not name.startswith("instances_")}
    return {
        "status": str(evaluation.status),
        "score": evaluation.score,
        "message": one_line(evaluation.message, 400),
        "metrics": {name: value for name, value in metrics.items() if _is_short(value) and name != CALLS},
        "cpu_s": evaluation.cpu_s,
        "untrusted_output": quote_output("\n".join(filter(None, (evaluation.traceback, evaluation.log)))),
    }


def problem_tools(workplace: Workplace) -> Sequence[ToolEntry]:
    """Make the tools for problems."""

    @describe_tool("list", reads=True)
    async def list_problems(page: Page = 1) -> object:
        """List problems: name, function that evolves, direction, title."""
        return page_of(await workplace.work(lambda: _list_problems(workplace)), page)

    @describe_tool("text", reads=True)
    async def describe_problem(problem: ProblemName, part: Part = "text", page: Page = 1) -> object:
        """Describe a problem; the part seed is the program to improve."""
        return _describe_problem(workplace.find_problem(problem), part, page)

    @describe_tool("evaluation", reads=True)
    async def evaluate(problem: ProblemName, program: Program = "", mode: Mode = "train") -> object:
        """Score a program (empty: the seed). It does not enter a run; use submit for that."""
        loaded = workplace.find_problem(problem)
        _check_mode(workplace, loaded, mode)
        source = Submission(program).program if program else None
        evaluation = await workplace.work(lambda: evaluate_program(loaded, source, mode=mode, root=workplace.root))
        return describe_evaluation(evaluation) | _warn_of_rules(loaded, program)

    @describe_tool("score", reads=True)
    async def probe(
        problem: ProblemName,
        program: Program,
        sizes: Sizes = [],  # noqa: B006 a schema needs the default
        instances: str = "",
        practice: bool = False,
        seconds: Seconds = CPU_S,
    ) -> object:
        """Run a program on training instances (practice: drawn as those of val): score and time by size, output."""
        loaded, source = workplace.find_problem(problem), Submission(program).program
        result = await workplace.work(
            lambda: probe_program(
                loaded,
                source,
                sizes=sizes,
                instances=instances,
                practice=practice,
                seconds=seconds,
                root=workplace.root,
            )
        )
        rows = [
            {
                "size": row.size,
                "status": str(row.status),
                "score": row.score,
                "instances": row.instances,
                "calls": row.calls,
                "seconds": row.seconds,
                "start_seconds": row.metrics.get("start_seconds"),
                "message": one_line(row.message, 200),
                **_split_by_size(row.metrics),
            }
            for row in result.sizes
        ]
        found = {"score": result.score, "sizes": rows, "skipped": result.skipped}
        return found | _warn_of_rules(loaded, source) | {"untrusted_output": quote_output(result.output)}

    @describe_tool("sweep", reads=True)
    async def sweep(
        problem: ProblemName,
        program: Program,
        parameters: Annotated[list[str], Field(description="Such as window=5,10,20 or window=5..60.")],
        sizes: Sizes = [],  # noqa: B006 a schema needs the default
        practice: bool = False,
        seconds: Seconds = CPU_S,
        settings: Annotated[int, Field(ge=1, le=200, description="Of ranges; listed values are all tried.")] = 24,
        text: Annotated[bool, Field(description="Whether to return the text of the best program.")] = True,
    ) -> object:
        """Try values of a program's parameters on training instances; returns the best rows and program."""
        loaded, source = workplace.find_problem(problem), Submission(program).program
        result = await workplace.work(
            lambda: sweep_program(
                loaded,
                source,
                parameters,
                sizes=sizes,
                practice=practice,
                seconds=seconds,
                settings=settings,
                root=workplace.root,
            )
        )
        best = result.best
        rows = [
            {"values": row.values, "score": row.score, "seconds": row.seconds, "message": one_line(row.message, 200)}
            for row in result.ranked[:ROWS]
        ]
        return {
            "present": {"values": result.rows[0].values, "score": result.rows[0].score},
            "rows": rows,
            "tried": len(result.rows),
            "skipped": result.skipped,
            "program": "" if best is None or not text else result.write_program(best),
            **_warn_of_rules(loaded, source),
        }

    @describe_tool("folder")
    async def new_problem(name: str) -> object:
        """Make the folder problems/NAME of a new problem that runs at once; edit its files, then check_problem."""
        parent = workplace.resolve("problems", exists=False)
        folder = await workplace.work(lambda: scaffold.new(name, parent))
        return {
            "folder": str(folder.relative_to(workplace.root)),
            "files": sorted(path.name for path in folder.iterdir()),
        }

    @describe_tool("checked", reads=True)
    async def check_problem(problem: ProblemName) -> object:
        """Check that a problem's folder meets the contract: findings that are not ok, with what to do."""
        folder = workplace.find_problem(problem).folder
        findings = await workplace.work(
            lambda: list(contract.check_problem(folder, workplace.root, child_of_seed, quick=True))
        )
        wrong = [
            {"level": finding.level.name, "title": finding.title, "detail": one_line(finding.detail, 500)}
            for finding in findings
            if finding.level.name != "OK"
        ]
        failures = sum(entry["level"] == "FAILURE" for entry in wrong)
        return {"passed": not failures, "checks": len(findings), "failures": failures, "findings": wrong}

    @describe_tool("doctor", reads=True)
    async def doctor() -> object:
        """Report isolation and solvers on this machine."""
        return await workplace.work(_examine_machine)

    return [list_problems, describe_problem, evaluate, probe, sweep, new_problem, check_problem, doctor]


def _examine_machine() -> object:
    """Return the report of ``oragent doctor``, from a process without threads: it forks."""
    command = [sys.executable, "-P", "-m", "oragent", "doctor", "--json"]
    variables = environment_by_hand()
    ended = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=DOCTOR_S, check=False)
    try:
        return json.loads(ended.stdout)["result"]
    except (ValueError, KeyError):
        raise ConfigError(f"doctor failed: {one_line(ended.stderr, 300)}") from None


def _list_problems(workplace: Workplace) -> list[dict[str, object]]:
    return [describe_listed_problem(problem) for problem in list_problems(workplace.root)]


def _describe_problem(problem: Problem, part: str, page: int) -> dict[str, object]:
    about = problem.about
    texts = {"text": problem.brief, "seed": problem.seed, "knowledge": problem.knowledge}
    head: dict[str, object] = {}
    if part == "text" and page == 1:
        head = {
            "name": problem.name,
            "title": about.title,
            "function": about.function,
            "outline": problem.outline,
            "better": about.direction.comparative,
            "sizes": about.sizes,
            "timeout_s": about.timeout_s,
            "heuristic_s": about.heuristic_s,
            "features": [feature.name for feature in about.features],
            "rules": _list_rules(problem),
        }
    return {**head, **page_of_text(texts[part], page)}


def _list_rules(problem: Problem) -> list[str]:
    """Return the rules for every program, in sentences."""
    limits = LimitSettings()
    rules = [
        "A function of its arguments alone: no clock, files, network or memory of earlier calls. Random numbers only "
        "from a generator with a fixed seed.",
        f"{describe_time_limits(problem, limits)} {describe_test_limits(problem, limits)}",
    ]
    if problem.signature.language == "python":
        rules.append(
            "Numba's cache=True has no effect: each evaluation compiles. Settings of a sweep share machine code."
        )
    return rules


def _warn_of_rules(problem: Problem, program: str) -> dict[str, object]:
    """Return a warning of a breach of the rules in the text of a program; empty if none was found."""
    found = find_unseeded(program, problem.signature.language) if program else ""
    return {"warning": f"submit rejects a program whose answers to equal calls differ: {found}"} if found else {}


def _split_by_size(metrics: Mapping[str, Any]) -> dict[str, object]:
    """Return scores and CPU seconds by size, if one run had several sizes."""
    values = read_instance_values(metrics) or {}
    if len(values) < 2:
        return {}
    scores = {size: mean(of_size) for size, of_size in values.items()}
    return {"score_by_size": scores, "seconds_by_size": metrics.get("places_seconds")}


def _check_mode(workplace: Workplace, problem: Problem, mode: Mode) -> None:
    if mode == "val" and workplace.is_open(problem):
        raise ConfigError(
            f"a run of {problem.name} is open: submit the program there, so that its score on val counts in the budget"
        )


def _is_short(value: object) -> bool:
    return isinstance(value, bool | int | float | str) or (isinstance(value, list | tuple) and len(value) <= 4)
