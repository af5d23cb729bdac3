"""Limits on time, memory and gap of a workspace's programs: defaults, ``workspace.yaml``, command line."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import Field
from pydantic.dataclasses import dataclass as checked

from oragent._base import settings
from oragent._base.bounded_yaml import parse_yaml
from oragent._base.errors import ConfigError
from oragent.milp.capturing import GAP
from oragent.sandbox.messages import Limits
from oragent.workspace.reading import read_text, shorten_path
from oragent.workspace.request import EffortOptions
from oragent.workspace.runner import LIMITS

FILE = "workspace.yaml"
LARGEST = 100_000  # bytes of the file


@checked(frozen=True, config=settings.STRICT)
class Effort:
    """Limits of a program of a workspace.

    Attributes:
        time: CPU seconds of a run: the program, and solving its models again in what is left, at least a quarter of it.
        gap: Relative gap at which a solve may end.
        memory: MiB.
    """

    time: Annotated[float, Field(gt=0, le=86400)] = LIMITS.cpu_s
    gap: Annotated[float, Field(ge=0, lt=1)] = 0.0
    memory: Annotated[int, Field(ge=256)] = LIMITS.memory_mb

    @property
    def limits(self) -> Limits:
        """Limits of one program."""
        return replace(LIMITS, cpu_s=self.time, memory_mb=self.memory)

    @property
    def solver_gap(self) -> float:
        """Relative gap that the solver is given."""
        return max(self.gap, GAP)


def resolve_effort(folder: Path, given: EffortOptions) -> Effort:
    """Settle what programs may use: the command line wins over the folder's ``workspace.yaml``, that over the defaults.

    Raises:
        ConfigError: if a value is out of its range, or the file is no such settings.
        WorkspaceError: if the file cannot be read.
    """
    path = folder / FILE
    tree: dict[str, Any] = {}
    if path.is_file() or path.is_symlink():
        try:
            tree = parse_yaml(read_text(path, LARGEST)) or {}
        except yaml.YAMLError:
            raise ConfigError(f"{shorten_path(path)} is not YAML: expected lines such as 'time: 600'") from None
        if not isinstance(tree, dict):
            raise ConfigError(f"{shorten_path(path)} holds no keys and values: expected lines such as 'time: 600'")
    overrides = {name: value for name, value in asdict(given).items() if value is not None}
    from_file = settings.build_settings(Effort, tree, [], shorten_path(path))
    return settings.build_settings(Effort, asdict(from_file) | overrides, [], "the options --time, --gap, --memory")
