"""Settings of a workspace. ``workspace.yaml`` sets its parts and limits; command-line options override them."""

import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import yaml
from pydantic import Field
from pydantic.dataclasses import dataclass as checked

from oragent._base import settings
from oragent._base.errors import ConfigError
from oragent._base.safe_load import parse_yaml
from oragent.llm.model import Model
from oragent.llm.model_settings import RuntimeSettings
from oragent.sandbox.messages import Limits
from oragent.workspace.entries import (
    NO_ENTRY,
    ProgramEntry,
    find_import_folders,
    find_program_path,
    find_scripts,
    parse_command,
)
from oragent.workspace.reading import read_text, shorten_path

if TYPE_CHECKING:
    # The command line loads this module before it needs a sandbox.
    from oragent.sandbox.sandbox import Sandbox

FILE = "workspace.yaml"
# Roles in which models are called.
MODEL_ROLES = ("builder", "planner", "reviser", "explainer")
# Maximum size of the file in bytes.
MAX_BYTES = 100_000
# Maximum number of threads that a program may start.
MAX_THREADS = 256
LIMITS = Limits(
    cpu_s=120.0,
    memory_mb=4096,
    counts_used_memory=True,
    file_mb=256,
    processes=MAX_THREADS,
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


NO_OPTIONS = EffortOptions()


@checked(frozen=True, config=settings.STRICT)
class WorkspaceSettings:
    """Parts of a workspace and limits of its program.

    Attributes:
        program: Path of the program or model file. Empty means that of the command, or the program in ``src``.
        command: Command line that runs the program, such as ``python src/main.py --week 12``.
        environment: Environment variables of the program. It inherits no others of the user.
        import_folders: Folders in which the program finds modules, as in PYTHONPATH. Empty means ``src`` and the folder
            itself if it has a pyproject.toml, setup.py or setup.cfg.
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
    command: str = ""
    environment: Mapping[str, str | int | float] = field(default_factory=dict)
    import_folders: tuple[str, ...] = ()
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
    def entry(self) -> ProgramEntry:
        """Program and arguments of the command."""
        entry = parse_command(self.command) if self.command else NO_ENTRY
        return replace(entry, path=self.program, import_folders=self.import_folders) if self.program else NO_ENTRY

    @property
    def variables(self) -> dict[str, str]:
        """Environment variables of the program."""
        return {name: str(value) for name, value in self.environment.items()}

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


def read_settings(folder: Path, options: EffortOptions = NO_OPTIONS) -> WorkspaceSettings:
    """Return the settings of a folder: the command line overrides ``workspace.yaml``, which overrides defaults.

    Raises:
        ConfigError: The file is not YAML, or has an unknown key or a wrong value.
    """
    path = folder / FILE
    tree: dict[str, Any] = {}
    if path.is_file() or path.is_symlink():
        try:
            tree = parse_yaml(read_text(path, MAX_BYTES)) or {}
        except yaml.YAMLError:
            raise ConfigError(f"{shorten_path(path)} is not YAML; expected lines such as 'time: 600'") from None
        if not isinstance(tree, dict):
            raise ConfigError(f"{shorten_path(path)} contains no keys and values; expected lines such as 'time: 600'")
    overrides = {name: value for name, value in asdict(options).items() if value is not None}
    from_file = complete_settings(folder, settings.build_settings(WorkspaceSettings, tree, [], shorten_path(path)))
    option_names = "the options --time, --gap, --memory, --solver, --confirm, --threads, --seed"
    return settings.build_settings(WorkspaceSettings, asdict(from_file) | overrides, [], option_names)


def complete_settings(folder: Path, read: WorkspaceSettings) -> WorkspaceSettings:
    """Return settings with the path of the program, the folders of its modules, and a command without variables.

    Raises:
        ConfigError: The command does not call Python, or names another program than the settings.
    """
    if not read.command:
        return replace(read, import_folders=read.import_folders or find_import_folders(folder, NO_ENTRY))
    entry = parse_command(read.command, find_scripts(folder))
    program = find_program_path(folder, replace(entry, import_folders=(*read.import_folders, *entry.import_folders)))
    if read.program not in ("", program):
        raise ConfigError(
            f"{shorten_path(folder / FILE)}: program and command name different programs; keep one of them"
        )
    start = f"cd {shlex.quote(entry.working_folder)} && " if entry.working_folder else ""
    path = entry.path.removeprefix(f"{entry.working_folder}/") if entry.working_folder else entry.path
    words = ["python", *(["-m", entry.module] if entry.module else [path]), *entry.arguments]
    return replace(
        read,
        program=program,
        command=f"{start}{shlex.join(words)}",
        environment={**dict(entry.variables), **read.environment},
        import_folders=read.import_folders or find_import_folders(folder, entry),
    )


@dataclass(frozen=True)
class VerbRequest:
    """Request of a verb."""

    folder: Path
    runtime: RuntimeSettings = RuntimeSettings()  # noqa: RUF009  # a frozen value
    # Model to use instead of a server's.
    model: Model | None = None
    # Sandbox shared with others. None means a new one.
    sandbox: "Sandbox | None" = None
    # Workspace whose recorded replies are used; no model is called.
    replay: Path | None = None
    # A frozen value.
    effort: EffortOptions = NO_OPTIONS

    @property
    def has_model(self) -> bool:
        """Whether a model or recorded replies are named."""
        return not (self.model is None and self.runtime.model is None and self.replay is None)
