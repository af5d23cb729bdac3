"""Proposal of a ``workspace.yaml`` for an existing folder, with its program, documents and data. No file is moved.

Proposals are tried in order, each by one run in the sandbox, until one solves a model.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from oragent._base import settings
from oragent._base.errors import OragentError, WorkspaceError
from oragent.modelling.data.display import plain
from oragent.modelling.operations.results import Figure
from oragent.modelling.operations.state import ModelStudy
from oragent.workspace.entries import read_head
from oragent.workspace.program_search import find_commands, rank_programs
from oragent.workspace.reading import list_files, shorten_path
from oragent.workspace.settings import FILE, WorkspaceSettings, complete_settings
from oragent.workspace.sources import WORKING, FolderState, open_state_model

DOCUMENTS = (".md", ".txt", ".rst", ".docx", ".pdf", ".eml", ".msg")
DATA = (".csv", ".tsv", ".xlsx", ".xlsm", ".db", ".sqlite", ".sqlite3", ".json", ".parquet")
MODELS = (".lp", ".mps")
# Names that describe how a project is built, not what its model is about, and folders that programs write.
TOOLING = re.compile(
    r"(?:^|/)(?:(?:outputs?|logs)/.*|requirements[^/]*\.txt|package(?:-lock)?\.json|tsconfig\.json|licen[cs]e[^/]*|changelog[^/]*|"
    r"contributing[^/]*|code_of_conduct[^/]*|setup\.py|conftest\.py|workspace\.yaml)$",
    re.IGNORECASE,
)
# Environment variables without a default in a program.
VARIABLE = re.compile(r"""\bos\.environ\[\s*["'](\w+)["']\s*\]|\bos\.(?:getenv|environ\.get)\(\s*["'](\w+)["']\s*\)""")
# Minimum number of files with the same folder and suffix that one pattern replaces.
MANY = 4
# Maximum number of proposals that are tried, and CPU seconds of each.
MAX_TRIALS, TRIAL_S = 4, 60.0


@dataclass(frozen=True)
class ProgramTrial:
    """Result of one run of a proposal."""

    # Command, or path of a program or model file.
    entry: str
    # Status of the solved model. Empty if no model was captured.
    status: str = ""
    objective: Figure = field(default_factory=Figure)
    # Reason why no model was captured.
    reason: str = ""

    @property
    def is_solved(self) -> bool:
        """Return True if the program solved a model with a solution."""
        return self.objective.value is not None


@dataclass(frozen=True)
class Adoption:
    """Proposed settings of a folder, and the runs by which they were chosen."""

    proposal: dict[str, Any]
    trials: tuple[ProgramTrial, ...]
    # Commands and programs that were not tried.
    untried: tuple[str, ...]
    # Environment variables without a default in the program.
    variables: tuple[str, ...]

    @property
    def is_solved(self) -> bool:
        """Return True if the proposed program solved a model with a solution."""
        return any(trial.is_solved for trial in self.trials)

    @property
    def text(self) -> str:
        """Content of ``workspace.yaml``."""
        head = "# Parts of this workspace for 'oragent workspace'; nothing was moved.\n"
        text = head + yaml.safe_dump(self.proposal, sort_keys=False, allow_unicode=True)
        if self.variables and "environment" not in self.proposal:
            text += "# The program reads these variables, which have no default here:\n# environment:\n"
            text += "".join(f"#   {name}: VALUE\n" for name in self.variables)
        return text


def propose_settings(folder: Path) -> list[dict[str, Any]]:
    """Return proposals for the keys of ``workspace.yaml``, the most likely first; they differ in the program."""
    if not folder.is_dir():
        raise WorkspaceError(f"no folder {shorten_path(folder)}; expected the folder of a model")
    files = list_files(folder, hidden=False)
    own = {path: file for path, file in files.items() if not TOOLING.search(path)}
    programs = rank_programs({path: file for path, file in own.items() if path.endswith(".py")})
    commands = {line: path for line, path in find_commands(folder, files).items() if path in programs}
    # A program is run by its command if there is one.
    entries: list[dict[str, Any]] = [{"command": line} for line in commands]
    entries += [{"program": path} for path in programs if path not in commands.values()]
    entries.sort(key=lambda entry: programs.index(entry.get("program") or commands[entry["command"]]))
    models = [path for path in own if path.endswith(MODELS)]
    if not entries and not models:
        # Models that programs of another language wrote into such a folder.
        models = [path for path in files if path.endswith(MODELS)]
    entries += [{"program": path} for path in models]
    if not entries:
        raise WorkspaceError(
            f"{shorten_path(folder)} has no program that imports Pyomo, OR-Tools, gurobipy, PuLP, highspy, linopy or "
            "SciPy, and no .lp or .mps file; name the program in workspace.yaml: 'program: FILE'"
        )
    parts: dict[str, Any] = {}
    for key, endings in (("documents", DOCUMENTS), ("data", DATA)):
        matching = (path for path in own if path.casefold().endswith(endings))
        # A revision may add a table beside the present ones, so one file in a folder of data is enough for a pattern.
        patterns = _patterns(matching, 1 if key == "data" else MANY)
        if patterns:
            parts[key] = patterns
    return [entry | parts for entry in entries]


def _patterns(paths: Iterable[str], least: int) -> list[str]:
    """Return the paths; at least so many paths in one folder, or ``MANY`` in the top folder, become one pattern."""
    groups: dict[tuple[str, str], list[str]] = {}
    for path in paths:
        parent, _, name = path.rpartition("/")
        groups.setdefault((parent, Path(name).suffix), []).append(path)
    patterns = []
    for (parent, suffix), group in groups.items():
        if len(group) < (least if parent else MANY):
            patterns += group
        else:
            patterns.append(f"{parent}/*{suffix}" if parent else f"*{suffix}")
    return patterns


def adopt_folder(folder: Path, write: bool = False) -> Adoption:
    """Propose ``workspace.yaml`` for a folder; write the file if ``write`` is True."""
    path = folder / FILE
    if write and (path.exists() or path.is_symlink()):
        raise WorkspaceError(f"{shorten_path(path)} is there already; edit it, or delete it first")
    adoption = try_proposals(folder, propose_settings(folder))
    if write:
        try:
            path.write_text(adoption.text, encoding="utf-8")
        except OSError as problem:
            raise WorkspaceError(f"cannot write {shorten_path(path)}: {problem.strerror}") from None
    return adoption


def try_proposals(folder: Path, proposals: Sequence[dict[str, Any]]) -> Adoption:
    """Run proposals in order until one solves a model; return it, or the first one if none does."""
    trials: list[ProgramTrial] = []
    for proposal in proposals[:MAX_TRIALS]:
        trials.append(_try_proposal(folder, proposal))
        if trials[-1].is_solved:
            break
    at = len(trials) - 1 if trials[-1].is_solved else 0
    untried = tuple(_name_entry(proposal) for proposal in proposals[len(trials) :])
    read = complete_settings(folder, settings.build_settings(WorkspaceSettings, proposals[at], [], FILE))
    text = read_head(folder / read.program) if (folder / read.program).is_file() else ""
    names = sorted({first or second for first, second in VARIABLE.findall(text)} - set(read.variables))
    return Adoption(proposals[at], tuple(trials), untried, tuple(names))


def _name_entry(proposal: dict[str, Any]) -> str:
    return str(proposal.get("command") or proposal["program"])


def _try_proposal(folder: Path, proposal: dict[str, Any]) -> ProgramTrial:
    entry = _name_entry(proposal)
    try:
        read = settings.build_settings(WorkspaceSettings, proposal | {"time": TRIAL_S}, [], FILE)
        opened = open_state_model(FolderState(WORKING, "", folder, complete_settings(folder, read)))
        study = ModelStudy(opened.model, opened.state.solve_limits)
        outcome = study.solve(study.present)
    except OragentError as problem:
        return ProgramTrial(entry, reason=plain(str(problem), 300))
    return ProgramTrial(entry, str(outcome.status), study.optimum(study.present))
