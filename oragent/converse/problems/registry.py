"""Decision problems by what the command line says."""

import re
from dataclasses import replace
from pathlib import Path

from oragent._base.errors import ConfigError, ProblemError
from oragent._base.safe_load import parse_json
from oragent._base.text_format import one_line
from oragent.converse.decision import DecisionProblem
from oragent.converse.problems.formulated import FormulatedProblem
from oragent.converse.problems.schools import generate_district, sfusd
from oragent.milp import files

# what the modules of a formulation said, and its most bytes
POOL, MOST_POOL = "pool.jsonl", 16 << 20
LONGEST_UNIT = 40
# problem of the published comparison
PUBLISHED = "sfusd"
DISTRICT = re.compile(r"district:(\d{1,6}):(\d{1,6})(?::(\d{1,9}))?")


def is_named(spec: str) -> bool:
    """Return whether an argument of the command line is a name, and not a file that may disappear."""
    return spec == PUBLISHED or spec.startswith("district")


def open_problem(spec: str) -> DecisionProblem:
    """The decision problem of a name: ``sfusd``, ``district:N:TIMES[:SEED]``, a model's file or its folder.

    Raises:
        OragentError: There is none, or the file holds no model that can be talked about.
    """
    if spec == PUBLISHED:
        return sfusd()
    if spec.startswith("district"):
        district_match = DISTRICT.fullmatch(spec)
        if district_match is None:
            raise ConfigError(f"{spec[:80]!r} is no district: expected district:SCHOOLS:TIMES, such as district:50:3")
        return generate_district(int(district_match[1]), int(district_match[2]), int(district_match[3] or 0))
    path = Path(spec)
    if path.is_dir():
        if not (path / "milp.json").is_file():
            raise ProblemError(f"{spec[:200]}: no milp.json in it; expected a formulation's folder")
        path /= "milp.json"
    elif not path.is_file():
        raise ProblemError(
            f"no decision problem {spec[:80]!r}: expected sfusd, district:SCHOOLS:TIMES[:SEED], a model's file or its "
            "folder"
        )
    milp = files.read(path)
    if path.name == "milp.json" and not milp.objective.unit:
        milp = replace(milp, objective=replace(milp.objective, unit=_read_objective_unit(path.with_name(POOL))))
    # a run's folder says more
    if path.name == "milp.json":
        stem = path.resolve().parent.name
    else:
        stem = path.stem
    return FormulatedProblem(milp, name=milp.name or stem)


def _read_objective_unit(pool: Path) -> str:
    """Return the unit of the objective that a formulation says beside its model; empty where it says none."""
    try:
        if not pool.is_file() or pool.stat().st_size > MOST_POOL:
            return ""
        entries = [parse_json(line) for line in pool.read_text(encoding="utf-8").splitlines() if line.strip()]
    except (OSError, ValueError):
        return ""
    parsed = [
        entry.get("parsed") for entry in entries if isinstance(entry, dict) and entry.get("module") == "formalization"
    ]
    if parsed and isinstance(parsed[-1], dict):
        unit = parsed[-1].get("UNIT")
    else:
        unit = None
    if isinstance(unit, str):
        return one_line(unit.strip(), LONGEST_UNIT)
    return ""
