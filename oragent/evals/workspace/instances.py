"""Generated instances with everything that is hidden from agents, as a vault keeps them."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from oragent._base.errors import MilpError, WorkspaceError
from oragent.evals.workspace.domains.domain import NewFigure
from oragent.evals.workspace.label_sets import VAULT
from oragent.evals.workspace.noise import NoiseStep
from oragent.milp import as_json
from oragent.milp.model import Milp
from oragent.workspace import tables
from oragent.workspace.reading import read_json, shorten_path
from oragent.workspace.tables import CsvTable


@dataclass(frozen=True)
class GeneratedInstance:
    """An instance with everything that is hidden from agents; saved in the vault as JSON.

    Attributes:
        number: Number in its set.
        domain: Name of the domain.
        revision: Name of the revision.
        depth: Depth of the revision, ``L1`` to ``L5``.
        title: Line for people.
        programs: Programs of the planning team, before and after the revision.
        milp: Exact original.
        revised: Exact revised model.
        optimum: Of the original, by two solvers.
        revised_optimum: Of the revised model.
        figures: Figures that the revision brings.
        operations: Operations of the revision, such as ``+constraint safety``.
        tables: Tables without noise, by file name.
        noise: Noise of the build view.
    """

    number: int
    domain: str
    revision: str
    depth: str
    title: str
    programs: tuple[str, str]
    milp: Milp
    revised: Milp
    optimum: float
    revised_optimum: float
    figures: tuple[NewFigure, ...]
    operations: tuple[str, ...]
    tables: Mapping[str, CsvTable]
    noise: tuple[NoiseStep, ...]


def instance_json(known: GeneratedInstance) -> str:
    """Return an instance as JSON text."""
    plain: dict[str, Any] = {key: getattr(known, key) for key in known.__dataclass_fields__}
    plain |= {"milp": as_json.to_dict(known.milp), "revised": as_json.to_dict(known.revised),
              "figures": [asdict(one) for one in known.figures], "noise": [asdict(one) for one in known.noise],
              "tables": {name: tables.write_table(table) for name, table in known.tables.items()}}  # fmt: skip
    return json.dumps(plain, ensure_ascii=False, separators=(",", ":")) + "\n"


def read_instances(root: Path) -> dict[int, GeneratedInstance]:
    """Return the exact models of a generated set, by number; empty where the set has none, as the public release.

    Raises:
        WorkspaceError: A record is broken.
    """
    folder = root / VAULT / "instances"
    found = {}
    for path in sorted(folder.glob("*.json")) if folder.is_dir() else []:
        plain = read_json(path)
        try:
            plain |= {name: as_json.from_dict(plain[name]) for name in ("milp", "revised")}
            plain["figures"] = tuple(NewFigure(**one) for one in plain["figures"])
            plain["noise"] = tuple(NoiseStep(one["kind"], tuple(one["where"])) for one in plain["noise"])
            plain["tables"] = {name: tables.read_strict(text, name) for name, text in plain["tables"].items()}
            plain["programs"], plain["operations"] = tuple(plain["programs"]), tuple(plain["operations"])
            found[int(plain["number"])] = GeneratedInstance(**plain)
        except (KeyError, TypeError, ValueError, AttributeError, MilpError) as problem:
            raise WorkspaceError(
                f"{shorten_path(path)} is no record of an instance: {type(problem).__name__}"
            ) from None
    return found
