"""Settings of a workspace. ``workspace.yaml`` sets its parts and limits; command-line options override them."""

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import Field
from pydantic.dataclasses import dataclass as checked

from oragent._base import settings
from oragent._base.errors import ConfigError
from oragent._base.safe_load import parse_yaml
from oragent.sandbox.messages import Limits
from oragent.workspace.reading import read_text, shorten_path

FILE = "workspace.yaml"
# Maximum size of the file in bytes.
LARGEST = 100_000
# Maximum number of threads that a program may start.
MOST_THREADS = 256
LIMITS = Limits(
    cpu_s=120.0,
    memory_mb=4096,
    counts_used_memory=True,
    file_mb=256,
    processes=MOST_THREADS,
    output_kb=1024,
    idle_s=30.0,
)


@dataclass(frozen=True)
class EffortOptions:
    """Options of the command line. None means not given."""

    # CPU seconds.
    time: float | None = None
    # Relative gap.
    gap: float | None = None
    # Memory in MiB.
    memory: int | None = None
    # Solver of captured models, and a second solver that confirms the result.
    solver: str | None = None
    confirm: str | None = None
    # Threads and seed of the back end.
    threads: int | None = None
    seed: int | None = None


@checked(frozen=True, config=settings.STRICT)
class WorkspaceSettings:
    """Parts of a workspace and limits of its program.

    Attributes:
        program: Path of the program or model file. Empty means the program in ``src``.
        arguments: Words of the program's command line.
        documents: Patterns of the documents. Empty means all files in ``docs``.
        data: Patterns of the data files. Empty means all files in ``data``.
        time: CPU seconds of the program, and seconds of a solve.
        gap: Relative gap at which a solve may end.
        memory: Memory of the program in MiB.
        solver: Back end that solves captured models.
        confirm: Second back end that solves them again. Empty means none.
        threads: Threads of the back end.
        seed: Seed of the back end.
    """

    program: str = ""
    arguments: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    time: Annotated[float, Field(gt=0, le=86400)] = LIMITS.cpu_s
    gap: Annotated[float, Field(ge=0, lt=1)] = 0.0
    memory: Annotated[int, Field(ge=256)] = LIMITS.memory_mb
    solver: str = "highs"
    confirm: str = ""
    threads: Annotated[int, Field(ge=1)] = 1
    seed: Annotated[int, Field(ge=0)] = 0

    @property
    def document_patterns(self) -> tuple[str, ...]:
        """Patterns of the documents."""
        return self.documents or ("docs/*",)

    @property
    def data_patterns(self) -> tuple[str, ...]:
        """Patterns of the data files."""
        return self.data or ("data/*",)

    @property
    def code_patterns(self) -> tuple[str, ...]:
        """Patterns of the program and its helpers."""
        if not self.program:
            return ("src/*",)
        folder = self.program.rpartition("/")[0]
        return (self.program, f"{folder}/*.py" if folder else "*.py")

    @property
    def task_patterns(self) -> tuple[str, ...]:
        """Patterns of all files that belong to the task of an agent."""
        return (*self.document_patterns, *self.data_patterns, *self.code_patterns)

    @property
    def limits(self) -> Limits:
        """Limits of one program."""
        return replace(LIMITS, cpu_s=self.time, memory_mb=self.memory)


NO_OPTIONS = EffortOptions()


def read_settings(folder: Path, options: EffortOptions = NO_OPTIONS) -> WorkspaceSettings:
    """Return the settings of a folder: the command line overrides ``workspace.yaml``, which overrides defaults.

    Raises:
        ConfigError: The file is not YAML, or has an unknown key or a wrong value.
    """
    path = folder / FILE
    tree: dict[str, Any] = {}
    if path.is_file() or path.is_symlink():
        try:
            tree = parse_yaml(read_text(path, LARGEST)) or {}
        except yaml.YAMLError:
            raise ConfigError(f"{shorten_path(path)} is not YAML; expected lines such as 'time: 600'") from None
        if not isinstance(tree, dict):
            raise ConfigError(f"{shorten_path(path)} contains no keys and values; expected lines such as 'time: 600'")
    overrides = {name: value for name, value in asdict(options).items() if value is not None}
    from_file = settings.build_settings(WorkspaceSettings, tree, [], shorten_path(path))
    given = "the options --time, --gap, --memory, --solver, --confirm, --threads, --seed"
    return settings.build_settings(WorkspaceSettings, asdict(from_file) | overrides, [], given)
