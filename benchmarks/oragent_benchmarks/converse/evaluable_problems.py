"""Stakeholders of a decision problem, its published figures, and sets of utilities as files."""

import importlib.util
import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from oragent._base.errors import ConfigError, StoreError
from oragent._base.text_format import one_line
from oragent.llm.callable import Scripted
from oragent_benchmarks.converse.decision import DecisionProblem
from oragent_benchmarks.converse.people.person import DROSSMAN, SchoolStakeholders
from oragent_benchmarks.converse.problems.district import SFUSD
from oragent_benchmarks.converse.problems.registry import open_problem as problem_of
from oragent_benchmarks.converse.problems.schools import Schools
from oragent_benchmarks.converse.stakeholders import Evaluable, Published, Stakeholder, Stakeholders, measure_diversity

SCHEMA = 1
# Maximum size of a file in bytes.
MAX_BYTES = 10_000_000


def stakeholders_of(problem: DecisionProblem) -> Stakeholders:
    """Return the stakeholders of a problem.

    Raises:
        ConfigError: The problem has no stakeholders, or too many decisions to enumerate.
    """
    if isinstance(problem, Schools):
        if problem.exact is None:
            raise ConfigError(
                f"an evaluation needs a district whose schedules can be enumerated, such as sfusd, not {problem.name!r}"
            )
        return SchoolStakeholders(problem, problem.exact)
    if not isinstance(problem, Evaluable):
        raise ConfigError(
            f"{one_line(problem.name, 60)} has no stakeholders: an evaluation needs a problem with a method "
            "'stakeholders', which returns them"
        )
    return problem.stakeholders()


def read_problem_file(path: Path) -> DecisionProblem:
    """Run a user's program and return the problem that it creates.

    Raises:
        ConfigError: The program fails, or does not create exactly one problem with stakeholders.
    """
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise ConfigError(
            f"{str(path)[:200]} does not exist; expected a Python file that makes a problem with stakeholders"
        )
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look up their module by this name.
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise ConfigError(f"{path}: {type(error).__name__}: {one_line(str(error), 200)}") from None
    evaluables = [
        value for value in vars(module).values() if isinstance(value, Evaluable) and not isinstance(value, type)
    ]
    if len(evaluables) != 1:
        raise ConfigError(f"{path} makes {len(evaluables)} problems with a method 'stakeholders': expected one")
    problem: DecisionProblem = evaluables[0]  # type: ignore[assignment]  # checked where it is used
    return problem


def published_of(problem: DecisionProblem) -> Published:
    """Return the published figures of a problem; empty if no figure was published."""
    if isinstance(problem, Schools) and problem.district == SFUSD:
        return DROSSMAN
    return Published()


def standing_in(problem: DecisionProblem, name: str = "scripted") -> Scripted:
    """Return a stand-in model that plays all roles according to the script of a problem."""
    script = stakeholders_of(problem).telling.script
    if script is None:
        raise ConfigError(f"the problem {one_line(problem.name, 60)} has no stand-in model: name a model")
    return Scripted(lambda request, number: script(request), name)


@dataclass(frozen=True)
class UtilitySet:
    """Content of a file of utilities. ``warnings`` has one line for each utility that lacks a required property."""

    stakeholders: tuple[Stakeholder, ...]
    warnings: tuple[str, ...]


def write_utility_file(path: Path, problem: DecisionProblem, stakeholders: Iterable[Stakeholder], origin: str) -> None:
    """Write utilities as JSON, one record each."""
    rows = ",\n  ".join(json.dumps(dict(stakeholder.record()), ensure_ascii=False) for stakeholder in stakeholders)
    head = json.dumps({"schema": SCHEMA, "problem": problem.name, "made": origin}, ensure_ascii=False)[1:-1]
    try:
        path.write_text(f'{{{head}, "utilities": [\n  {rows}\n]}}\n', encoding="utf-8")
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror}") from None


def read_utility_file(path: Path, problem: DecisionProblem) -> UtilitySet:
    """Read utilities from a file of oragent, or from a plain list of records in the problem's format."""
    stakeholders = stakeholders_of(problem)
    expected = "a file that `oragent bench utilities` wrote"
    loaded_tree = load_json(path, MAX_BYTES, "a file of utilities", expected)
    loaded, warnings = [], []
    for number, record in enumerate(_check_records(path, loaded_tree, problem.name), 1):
        try:
            stakeholder, doubts = stakeholders.of(record)
        except ConfigError as error:
            raise ConfigError(f"{path}, utility {number}: {error}") from None
        except (KeyError, TypeError, ValueError) as error:
            # The code of a user's problem may not check its records.
            reason = f"not a record of {one_line(problem.name, 60)}: {one_line(str(error), 120)}"
            raise ConfigError(f"{path}, utility {number}: {reason}") from None
        loaded.append(stakeholder)
        warnings += [f"{path}, utility {number}: {doubt}" for doubt in doubts]
    return UtilitySet(tuple(loaded), tuple(warnings))


def load_json(path: Path, largest: int, what: str, expected: str, missing: str = "") -> Any:
    """Load a JSON file of the user.

    Args:
        path: Path of the file.
        largest: Maximum size in bytes.
        what: Expected kind of file, such as ``a file of utilities``.
        expected: Expected content, for the error on invalid JSON.
        missing: Expected content, for the error on an unreadable file.
    """
    try:
        if path.stat().st_size > largest:
            raise ConfigError(f"{path} is larger than {largest // 10**6} MB: expected {what}")
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as problem:
        raise StoreError(f"cannot read {path}: {problem.strerror}{missing}") from None
    except (ValueError, RecursionError):
        raise ConfigError(f"{path} is not JSON; expected {expected}") from None


def _check_records(path: Path, tree: Any, problem: str) -> list[Mapping[str, Any]]:
    if isinstance(tree, dict):
        if tree.get("schema") != SCHEMA:
            raise ConfigError(f"{path} has schema {tree.get('schema')!r:.40}; expected {SCHEMA}; write the file again")
        if tree.get("problem") != problem:
            raise ConfigError(f"{path} is for problem {tree.get('problem')!r:.40}, not {problem!r}")
        tree = tree.get("utilities")
    if not isinstance(tree, list) or not tree or not all(isinstance(record, dict) for record in tree):
        raise ConfigError(f"{path} must contain a list of at least one utility")
    return tree


def generate_utilities(spec: str, out: Path, seed: int, functions: int, console: Console) -> None:
    """Generate utilities for a named problem, write them, and print the size of an evaluation with them."""
    problem = problem_of(spec)
    stakeholders = stakeholders_of(problem).generated(np.random.default_rng(seed), functions)
    kind = f"function-centric, {functions}" if functions else "solution-centric"
    write_utility_file(out, problem, stakeholders, f"{kind}, seed {seed}")
    diversity = measure_diversity(stakeholders)
    summary = (
        f"{diversity.utilities} utilities, {diversity.unique} with one maximiser, over {diversity.optima} different "
    )
    console.print(f"{summary}{problem.vocabulary.decision}s: {out}", highlight=False, soft_wrap=True, markup=False)
