"""The folder of one formulation: what was asked, what was said, what came of it, each in a file of its own."""

import json
import re
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from oragent._base import files
from oragent._base.errors import MilpError, StoreError
from oragent._base.settings import dump
from oragent.formulate.formulation import FormulationResult
from oragent.formulate.interface import Form, ProgramInterface
from oragent.formulate.options import Options
from oragent.formulate.pool import CommentPool
from oragent.formulate.problem import ProblemText
from oragent.llm.runtime_settings import RuntimeSettings, build_runtime
from oragent.milp import as_json
from oragent.milp.files import write
from oragent.milp.model import Milp
from oragent.milp.solution import Solution

CASE = "formulation"  # the one case of the study in such a folder
REQUEST = "formulate.json"
ABOUT_CHARACTERS = 2000  # of a problem, in its model


@dataclass(frozen=True)
class FormulationRequest:
    """What was asked for, so that the folder can be gone on with.

    Attributes:
        problem: With its data and interface.
        options: How.
        runtime: Settings of the models that are asked, and the budget; without a model for a replay.
        tolerance: Preset by which a reference is compared.
    """

    problem: ProblemText
    options: Options
    runtime: RuntimeSettings = RuntimeSettings()  # noqa: RUF009  # a frozen value
    tolerance: str = "strict"


def begin(outputs: Path, request: FormulationRequest) -> Path:
    """Make the folder ``NAME/TIME`` below ``outputs`` and write what is asked.

    Raises:
        StoreError: It cannot be written.
    """
    stem = re.sub(r"[^\w.-]+", "-", request.problem.name).strip("-.") or "problem"
    base = outputs / stem / time.strftime("%Y%m%d-%H%M%S")
    folder, number = base, 1
    while folder.exists():
        number += 1
        folder = base.with_name(f"{base.name}-{number}")
    try:
        folder.mkdir(parents=True)
        files.replace(folder / "problem.md", request.problem.text)
        files.replace(folder / "data.json", _json(request.problem.data))
        files.replace(folder / "interface.py", request.problem.interface.source + "\n")
        files.replace(folder / REQUEST, _json(_plain(request)))
    except OSError as problem:
        raise StoreError(f"cannot write into {folder}: {problem}") from None
    return folder


def is_formulation(folder: Path) -> bool:
    """Whether a folder is one of these."""
    return (folder / REQUEST).is_file()


def read_request(folder: Path) -> FormulationRequest:
    """Read what a folder was begun with.

    Raises:
        StoreError: It is none, or was changed by hand.
    """
    path = folder / REQUEST
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
        interface = plain["interface"]
        options = dict(plain["options"])
        problem = ProblemText(
            plain["name"], (folder / "problem.md").read_text(encoding="utf-8"),
            json.loads((folder / "data.json").read_text(encoding="utf-8")),
            ProgramInterface(
                interface["function"], tuple(interface["parameters"]), interface["source"],
                Form(interface.get("form", Form.HEAD)),
            ),
            plain["background"],
        )  # fmt: skip
        options |= {"without": frozenset(options["without"]), "extra": tuple(options["extra"])}
        runtime = plain.get("runtime") or {"model": plain["model"] or None}  # earlier versions wrote the model alone
        return FormulationRequest(
            problem, Options(**options), build_runtime(runtime, (), str(path)), plain["tolerance"]
        )
    except OSError as problem:
        raise StoreError(f"no formulation at {folder}: {problem.strerror or problem} ({REQUEST})") from None
    except (KeyError, TypeError, ValueError) as problem:
        raise StoreError(f"{path} is not what a formulation leaves: {type(problem).__name__} {problem}") from None


def leave(folder: Path, found: FormulationResult, solution: Solution | None) -> None:
    """Write what came of it.

    Args:
        folder: Of the formulation.
        found: What came of it.
        solution: Of its model, with duals; None where there is no model.

    Raises:
        StoreError: It cannot be written.
    """
    try:
        files.replace(folder / "pool.jsonl", CommentPool(found.pool).to_lines())
        files.replace(folder / "program.py", found.program)
        files.replace(folder / "checker.py", found.checker)
        files.replace(folder / "checks.json", _json({"kept": found.kept, "checks": found.checks,
                                                     "attempts": list(found.attempts)}))  # fmt: skip
        plain = as_json.solution_dict(solution) if solution else {"status": found.status, "note": found.message}
        files.replace(folder / "solution.json", _json(plain))
        if found.milp is not None:
            milp = _explained(found.milp, folder, found.checks or {})
            for form in ("json", "mps", "lp"):
                write(milp, folder / f"milp.{form}")
    except OSError as problem:
        raise StoreError(f"cannot write into {folder}: {problem}; its run.db has all of it") from None
    except MilpError as problem:
        raise StoreError(f"{folder}: the model cannot be written: {problem}") from None


def _explained(milp: Milp, folder: Path, checks: Mapping[str, Any]) -> Milp:
    """The model with what it is about, and the sentence behind each row, so that others can talk about it."""
    sentences = checks.get("sentences") or {}
    rows = tuple(replace(row, meaning=row.meaning or sentences.get(row.name, "")) for row in milp.rows)
    about = " ".join((folder / "problem.md").read_text(encoding="utf-8").split())
    return replace(milp, rows=rows, meaning=milp.meaning or about[:ABOUT_CHARACTERS])


def _plain(request: FormulationRequest) -> dict[str, Any]:
    options = asdict(request.options)
    options |= {"without": sorted(request.options.without), "extra": list(request.options.extra)}
    return {
        "name": request.problem.name,
        "background": request.problem.background,
        "interface": asdict(request.problem.interface),
        "options": options,
        "model": {} if request.runtime.model is None else request.runtime.model.changed,
        "runtime": dump(request.runtime),
        "tolerance": request.tolerance,
    }


def _json(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False, default=str) + "\n"
