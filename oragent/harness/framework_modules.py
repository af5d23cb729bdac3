"""Substitutes for the modules of other frameworks that evaluators import.

They are used whether the framework is installed or not, so that a task has the same score on every machine. Modules
without a substitute are those of the framework, if it is installed.
"""

import dataclasses
import enum
import importlib.abc
import importlib.machinery
import importlib.util
import itertools
import json
import math
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

# Package of the tasks of LLM4AD, which import their own parts by its full name.
TASKS_OF_LLM4AD = "llm4ad.task"
CLASSES_OF_ALPHAEVOLVE = (
    "EvaluationInsight", "EvaluationInsights", "EvaluationScore", "EvaluationScores", "ProgramEvaluation"
)  # fmt: skip


class BaseProblem:
    """Base class of problems of EoH."""

    template_program = task_description = ""

    def __init__(self, timeout: int = 40, n_processes: int = 1) -> None:
        self.timeout, self.n_processes = timeout, n_processes


class EvaluationBase:
    """Base class of evaluations of LLM4AD."""

    def __init__(
        self, template_program: Any = "", task_description: str = "", *options: Any, **named_options: Any
    ) -> None:
        names = (
            "use_numba_accelerate", "use_protected_div", "protected_div_delta", "random_seed", "timeout_seconds"
        )  # fmt: skip
        defaults = {"use_numba_accelerate": False, "use_protected_div": False, "random_seed": None}
        self.template_program, self.task_description = str(template_program), task_description
        self.__dict__.update(defaults | dict(zip(names, options, strict=False)) | named_options)


@dataclasses.dataclass
class EvaluationResult:
    """Result that an evaluator of OpenEvolve may return instead of its metrics."""

    metrics: dict[str, Any]
    artifacts: dict[str, Any] = dataclasses.field(default_factory=dict)

    @classmethod
    def from_dict(cls, metrics: dict[str, Any]) -> "EvaluationResult":
        """Make a result of metrics alone."""
        return cls(metrics)

    def to_dict(self) -> dict[str, Any]:
        """Return the metrics."""
        return self.metrics


class MetricType(enum.Enum):
    """Direction of a metric of LLM4AD_Next."""

    MINIMIZE, MAXIMIZE = "minimize", "maximize"


@dataclasses.dataclass(frozen=True)
class Metric:
    """Metric of LLM4AD_Next."""

    name: str
    type: MetricType = MetricType.MAXIMIZE
    weight: float = 1.0
    description: str = ""


@dataclasses.dataclass
class EvalContext:
    """Input of an evaluator of LLM4AD_Next: the folder of the program, a file with data, and the limit of time."""

    project_root: str
    data_path: str = ""
    timeout: float = 60.0
    behavior_storage: str = "none"
    candidate_id: str = ""
    generation: int = 0
    parent_ids: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class InstanceResult:
    """Result of LLM4AD_Next for a file with data."""

    score: float = 0.0
    metrics: dict[str, float] = dataclasses.field(default_factory=dict)
    monitor_metrics: dict[str, float] = dataclasses.field(default_factory=dict)
    metadata: dict[str, Any] = dataclasses.field(default_factory=dict)
    success: bool = True
    error_message: str | None = None
    duration_ms: float = 0.0
    behavior: Any = None


class BaseEvaluator:
    """Base class of evaluators of LLM4AD_Next."""

    metrics: Sequence[Metric] = ()

    @classmethod
    def register(cls, name: str, evaluator: Any = None) -> Any:
        """Return a decorator, or nothing if the class is given: tasks name their evaluators by their files."""
        return (lambda decorated: decorated) if evaluator is None else None

    def compute_score(self, metric_values: Mapping[str, float], weights: Mapping[str, float] | None = None) -> float:
        """Return the weighted mean of the metrics, those that are minimised with the opposite sign."""
        weighted = [
            (-value if metric.type is MetricType.MINIMIZE else value, (weights or {}).get(metric.name, metric.weight))
            for metric in self.metrics
            if (value := metric_values.get(metric.name)) is not None
        ]
        total = sum(weight for _, weight in weighted)
        return sum(value * weight for value, weight in weighted) / total if total > 0 else 0.0


class Fields:
    """Values by name, as the data classes of the client of AlphaEvolve."""

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)

    def model_dump(self) -> dict[str, Any]:
        """Return the values as plain data."""
        return {name: _to_plain(value) for name, value in vars(self).items()}


def _to_plain(value: Any) -> Any:
    if isinstance(value, Fields):
        return value.model_dump()
    if isinstance(value, list | tuple):
        return [_to_plain(item) for item in value]
    return value


def run_shinka_eval(
    program_path: str,
    results_dir: str,
    experiment_fn_name: str,
    num_runs: int = 1,
    get_experiment_kwargs: Callable[[int], Mapping[str, Any]] | None = None,
    aggregate_metrics_fn: Callable[[list[Any]], dict[str, Any]] | None = None,
    validate_fn: Callable[[Any], Any] | None = None,
    *,
    early_stop_method: Any = None,
    **_: Any,
) -> tuple[dict[str, Any], bool, str | None]:
    """Run a function of a program several times, check and aggregate its results, and write ShinkaEvolve's two files.

    Raises:
        NotImplementedError: The task stops early, by a method of the framework.
    """
    if early_stop_method is not None:
        raise NotImplementedError("early_stop_method of run_shinka_eval")
    results: list[Any] = []
    metrics: dict[str, Any] = {}
    problem = None
    try:
        program = load_module("program", Path(program_path))
        for number in range(num_runs):
            given = get_experiment_kwargs(number) if get_experiment_kwargs else {"seed": number + 1}
            results.append(getattr(program, experiment_fn_name)(**given))
            if validate_fn is not None:
                is_valid, reason = validate_fn(results[-1])
                problem = problem or (None if is_valid else f"Validation failed: {reason}")
        metrics = aggregate_metrics_fn(results) if aggregate_metrics_fn else {"num_successful_runs": len(results)}
        if not math.isfinite(score := metrics.get("combined_score", 0.0)):
            problem = problem or f"combined_score is {score}"
    except Exception as failure:
        problem, metrics = str(failure) or type(failure).__name__, {}
    metrics.pop("extra_data", None)
    Path(results_dir).mkdir(parents=True, exist_ok=True)
    Path(results_dir, "metrics.json").write_text(json.dumps(metrics, default=repr), encoding="utf-8")
    correct = {"correct": problem is None, "error": problem}
    Path(results_dir, "correct.json").write_text(json.dumps(correct), encoding="utf-8")
    return metrics, problem is None, problem


def load_module(name: str, path: Path) -> types.ModuleType:
    """Import a module from its file.

    Raises:
        Exception: Any exception of the module.
    """
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def install_substitutes(task: Path) -> None:
    """Let ``import`` find the substitutes, and the parts of a task of LLM4AD in its folder."""
    members: Mapping[str, Mapping[str, Any]] = {
        "eoh": {"BaseProblem": BaseProblem},
        "llm4ad.base": {"Evaluation": EvaluationBase},
        "llm4ad.config.schema": {"EvalContext": EvalContext},
        "llm4ad.evaluator.base": {
            **{kind.__name__: kind for kind in (BaseEvaluator, EvalContext, Metric, MetricType)},
            "EvaluationResult": InstanceResult,
        },
        "llm4ad.evaluator.behavior": {"BehaviorData": Fields},
        "alpha_evolve.models": {f"AlphaEvolve{name}": type(name, (Fields,), {}) for name in CLASSES_OF_ALPHAEVOLVE},
        "openevolve.evaluation_result": {"EvaluationResult": EvaluationResult},
        "shinka.core": {"run_shinka_eval": run_shinka_eval},
    }
    names = {name for path in members for name in itertools.accumulate(path.split("."), "{}.{}".format)}
    for name in sorted(names):
        _add_module(name, members.get(name, {}))
    sys.meta_path.insert(0, _TaskFinder(task))


def _add_module(name: str, members: Mapping[str, Any]) -> None:
    module = types.ModuleType(name)
    vars(module).update(members)
    parent, _, own_name = name.rpartition(".")
    # Other parts of an installed framework stay available, without its ``__init__``.
    spec = None
    if not parent:
        with suppress(ImportError, ValueError):
            spec = importlib.util.find_spec(name)
    module.__path__ = list(spec.submodule_search_locations or ()) if spec is not None else []
    sys.modules[name] = module
    if parent:
        setattr(sys.modules[parent], own_name, module)


class _TaskFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finder of ``llm4ad.task.AREA.NAME``, whose modules are the files of the task's folder."""

    def __init__(self, task: Path) -> None:
        self._task = task

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != TASKS_OF_LLM4AD and not fullname.startswith(f"{TASKS_OF_LLM4AD}."):
            return None
        file = self._task / f"{fullname.rpartition('.')[2]}.py"
        if file.is_file():
            return importlib.util.spec_from_file_location(fullname, file)
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def exec_module(self, module: types.ModuleType) -> None:
        """Leave the package empty."""
