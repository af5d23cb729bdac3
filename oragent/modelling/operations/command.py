"""Command ``oragent model``: lines of operations on the model of a file."""

import json
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from oragent._base.errors import ModellingError
from oragent._base.files import replace_file
from oragent._base.publishing import publish_progress
from oragent.modelling.data.display import plain
from oragent.modelling.files.json_text import load_json
from oragent.modelling.files.model_files import read_bytes
from oragent.modelling.opening import open_model, print_note
from oragent.modelling.operations.outcomes import SolveLimits
from oragent.modelling.operations.printing import print_result
from oragent.modelling.operations.results import AnyResult
from oragent.modelling.operations.session import ModelSession
from oragent.modelling.operations.syntax import is_comment
from oragent.modelling.solving.back_ends.registry import find_solver

SCENARIOS = ".scenarios.json"


def run_lines(
    path: Path,
    lines: Sequence[str],
    limits: SolveLimits,
    console: Console,
    *,
    scenario: str = "",
) -> list[AnyResult]:
    """Run lines on the model of a file and print each result at once.

    Scenarios of ``keep NAME`` are stored in ``MODEL.scenarios.json`` next to the model, for the next call.

    Raises:
        ModellingError: The file contains no model, or a line cannot be executed. Earlier results are printed.
    """
    for name in filter(None, (limits.solver, limits.confirm)):
        find_solver(name).version()
    # The folders . and .. have no name of their own to put files next to.
    path = path if path.name not in ("", "..") else path.resolve()
    scenarios = read_scenarios(path)
    session = ModelSession(open_model(path, tell=print_note), limits, scenarios, path.parent)
    if scenario:
        session.study.changes = session.study.named(scenario)
    results = []
    try:
        for line in lines or ["describe"]:
            if is_comment(line):
                continue
            result = session.ask(line)
            results.append(result)
            publish_progress("result", {"result": result})
            print_result(result, console)
    finally:
        if session.scenario_lines() != scenarios:
            write_scenarios(path, session.scenario_lines())
    return results


def read_lines(path: Path) -> list[str]:
    """Return the lines of a file of operations, without empty lines and comments (``#``)."""
    try:
        return read_bytes(path, "lines of operations").decode().splitlines()
    except UnicodeDecodeError:
        raise ModellingError(f"{plain(str(path), 200)}: not a text in UTF-8") from None


def read_scenarios(model: Path) -> dict[str, list[str]]:
    """Return the scenarios next to a model: the lines of their changes by name."""
    path = model.with_name(model.name + SCENARIOS)
    if not path.is_file():
        return {}
    data = load_json(read_bytes(path, "scenarios"), "scenarios")
    is_right = isinstance(data, dict) and all(
        isinstance(lines, list) and all(isinstance(line, str) for line in lines) for lines in data.values()
    )
    if not is_right:
        raise ModellingError(f"{plain(str(path), 200)}: expected an object with a list of lines by name")
    return dict(data)


def write_scenarios(model: Path, scenarios: dict[str, list[str]]) -> None:
    """Write the scenarios next to a model."""
    replace_file(model.with_name(model.name + SCENARIOS), json.dumps(scenarios, ensure_ascii=False, indent=1) + "\n")
