"""Views: the files of a workspace that an agent may see. They are searched for labels and copied as tasks.

Zhou et al. 2026: a build shows documents and data. A revision shows the original with its program, its formulation or
both, and the revised documents and data. A question shows both versions with code, logs and solver records.
"""

import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from oragent._base.errors import WorkspaceError
from oragent.workspace.citations import normalise_text
from oragent.workspace.data_edits import DATABASES
from oragent.workspace.layout import FileRole, Mode, WorkspaceLayout, role_of, sha256_of
from oragent.workspace.reading import list_files, read_bytes, read_json, shorten_path
from oragent.workspace.runner import relative_error
from oragent_benchmarks.workspace.grading import Reference
from oragent_benchmarks.workspace.rubric import Rubric

VAULT = "vault"
LABEL_FILES = frozenset({"reference_objectives.csv", "rubrics.jsonl", "judge_prompt.md", "empirical_difficulty.csv"})
# Minimum length of a sentence, in characters, whose occurrence counts as a leak.
MIN_LEAK_CHARACTERS = 24
# Minimum number of significant digits of a number whose occurrence counts as a leak.
DIGITS = 5
NUMBER = re.compile(r"[-+]?[0-9]+(?:\.[0-9]+)?(?:e[-+]?[0-9]+)?")

METADATA = "metadata.json"
ALLOWED = {
    "instance_id": str,
    "instance_number": int,
    "original_instance_id": str,
    "source_revise_instance": str,
    "domain": str,
    "explain_task": dict,
}
ALLOWED_TASK = {"dimension": str, "domain": str, "question": str}
GIVEN = {FileRole.DOCUMENT, FileRole.PARAMETERS, FileRole.TABLE}
EVERYTHING = GIVEN | {FileRole.CODE, FileRole.FORMULATION, FileRole.LOG, FileRole.RECORD}
# Folder for the submitted program.
PROGRAM = {Mode.BUILD: "src", Mode.REVISE: "revised/src"}


class Trace(StrEnum):
    """Kind of a leak."""

    NAME = "is named like a file of labels"
    CONTENT = "is a copy of a file of labels"
    SENTENCE = "holds a sentence of a label"
    VALUE = "holds the reference objective"


@dataclass(frozen=True)
class HiddenLabels:
    """Labels that a view must not contain."""

    # Names of files of labels, without their folders.
    names: frozenset[str] = LABEL_FILES
    # SHA-256 of files of labels.
    hashes: frozenset[str] = frozenset()
    # Sentences of answers and checklists, each with its label.
    sentences: Mapping[str, str] = field(default_factory=dict)
    # Reference objectives, each with its label.
    values: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Leak:
    """A label that was found in a view."""

    path: str
    trace: Trace
    # Name of the label, never its content.
    label: str
    # True if the match cannot be a coincidence. A value with few digits can occur in any table.
    certain: bool = True


class RevisionView(StrEnum):
    """Part of the original that a revision shows."""

    CODE = "revise-code"
    MODEL = "revise-model"
    ALL = "revise-all"


SHOWN_OF_ORIGINAL = {
    RevisionView.CODE: GIVEN | {FileRole.CODE},
    RevisionView.MODEL: GIVEN | {FileRole.FORMULATION},
    RevisionView.ALL: GIVEN | {FileRole.CODE, FileRole.FORMULATION},
}


def labels_of(
    references: Mapping[str, Reference], rubric: Rubric | None = None, hashes: frozenset[str] = frozenset()
) -> HiddenLabels:
    """Return the labels of one instance.

    Args:
        references: Labels whose objectives must not occur. Empty for explain, whose evidence contains them.
        rubric: Label of its question.
        hashes: SHA-256 of the files of labels.
    """
    sentences = {}
    if rubric is not None:
        parts = {"expected_short_answer": rubric.short_answer, "multi_hop_path": rubric.path}
        parts |= {f"{criterion.id}.criterion": criterion.text for criterion in rubric.criteria}
        parts |= {f"{criterion.id}.instruction": criterion.instruction for criterion in rubric.criteria}
        sentences = {f"{rubric.instance_id}.{name}": text for name, text in parts.items()}
    values = {name: reference.objective for name, reference in references.items()}
    return HiddenLabels(hashes=hashes, sentences=sentences, values=values)


def search_labels(folder: Path, labels: HiddenLabels) -> tuple[Leak, ...]:
    """Search the files below a folder for labels."""
    sentences = {label: normalise_text(text) for label, text in labels.sentences.items()}
    sentences = {label: text for label, text in sentences.items() if len(text) >= MIN_LEAK_CHARACTERS}
    leaks: list[Leak] = []
    for path, file in list_files(folder).items():
        content = read_bytes(file)
        if path.rpartition("/")[2].casefold() in labels.names:
            leaks.append(Leak(path, Trace.NAME, path.rpartition("/")[2].casefold()))
        if sha256_of(content) in labels.hashes:
            leaks.append(Leak(path, Trace.CONTENT, sha256_of(content)[:12]))
        text = normalise_text(content.decode("utf-8", "replace"))
        leaks += [Leak(path, Trace.SENTENCE, label) for label, sentence in sentences.items() if sentence in text]
        leaks += _find_values(path, text, labels.values)
    return tuple(leaks)


def _find_values(path: str, text: str, values: Mapping[str, float]) -> list[Leak]:
    if not values:
        return []
    tokens = {token.lstrip("+-") for token in NUMBER.findall(text)}
    numbers = {token: float(token) for token in tokens}
    leaks = []
    for label, value in values.items():
        same = [token for token, number in numbers.items() if relative_error(number, abs(value)) <= 1e-9]
        if same:
            digits = max(len(token.partition("e")[0].replace(".", "").strip("0")) for token in same)
            leaks.append(Leak(path, Trace.VALUE, label, certain=digits >= DIGITS))
    return leaks


def public_metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata with allowed keys only, which reveal no answer."""
    shown = _filter_allowed(metadata, ALLOWED)
    if "explain_task" in shown:
        shown["explain_task"] = _filter_allowed(metadata["explain_task"], ALLOWED_TASK)
    return shown


def _filter_allowed(values: Mapping[str, Any], allowed: Mapping[str, type]) -> dict[str, Any]:
    return {key: values[key] for key, kind in allowed.items() if isinstance(values.get(key), kind)}


def _is_shown(path: str, mode: Mode) -> bool:
    version = path.partition("/")[0]
    is_database = path.removeprefix(f"{version}/" if mode is not Mode.BUILD else "").startswith("data/") and (
        path.casefold().endswith(DATABASES)
    )
    role = FileRole.TABLE if is_database else role_of(path)
    if mode is Mode.BUILD:
        return version in {"docs", "data"} and role in GIVEN
    if mode is Mode.EXPLAIN:
        return version in {"original", "revised"} and role in EVERYTHING
    roles = SHOWN_OF_ORIGINAL[RevisionView.ALL] if version == "original" else GIVEN
    return version in {"original", "revised"} and role in roles


def copy_view(workspace: WorkspaceLayout, folder: Path, labels: HiddenLabels) -> tuple[Leak, ...]:
    """Copy the visible files into a new folder, search it for labels, and return values that can be coincidences."""
    files = {path: file for path, file in workspace.files.items() if _is_shown(path, workspace.mode)}
    metadata = public_metadata(workspace.metadata)
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise WorkspaceError(f"cannot create {shorten_path(folder)}: {error.strerror}; expected a new folder") from None
    try:
        if workspace.mode in PROGRAM:
            (folder / PROGRAM[workspace.mode]).mkdir(parents=True)
        for path, file in files.items():
            _write_bytes(folder / path, read_bytes(file))
        if metadata:
            text = json.dumps(metadata, indent=2, ensure_ascii=False)
            _write_bytes(folder / METADATA, text.encode("utf-8", "backslashreplace"))
        leaks = search_labels(folder, labels)
        for leak in leaks:
            if leak.certain:
                found = f"{shorten_path(leak.path)} {leak.trace} ({shorten_path(leak.label)})"
                raise WorkspaceError(f"the view contains a label: {found}; remove it first")
        return leaks
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _write_bytes(path: Path, content: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    except OSError as error:
        raise WorkspaceError(
            f"cannot write {shorten_path(path)}: {error.strerror}; all files of the folder were removed"
        ) from None


@dataclass(frozen=True)
class WorkspaceTask:
    """Task on one instance."""

    # Id of its workspace.
    name: str
    number: int
    mode: Mode
    # Shown part of the original of a revision. None for other modes.
    variant: RevisionView | None
    # Folder of its view in the set.
    view: Path
    # Question. Empty for other modes.
    question: str = ""


def list_tasks(
    root: Path, mode: Mode, variant: RevisionView = RevisionView.CODE, limit: int | None = None
) -> tuple[WorkspaceTask, ...]:
    """Return the tasks of one mode in a set, in the order of their numbers."""
    views = root / "views"
    if not views.is_dir() or not (root / VAULT).is_dir():
        raise WorkspaceError(
            f"no views in {shorten_path(root)}: expected a set as 'oragent workspace import --outputs' writes it"
        )
    listed = []
    for folder in sorted(views.iterdir()):
        parts = folder.name.rsplit("_", 2)
        if folder.is_symlink():
            raise WorkspaceError(
                f"{shorten_path(folder)} is a link: a set contains only files and folders; copy its target"
            )
        if len(parts) == 3 and parts[2] == mode and parts[1].isdecimal():
            metadata = read_json(folder / METADATA) if (folder / METADATA).is_file() else {}
            question = str(metadata.get("explain_task", {}).get("question", "")) if mode is Mode.EXPLAIN else ""
            has_program = any((folder / "original" / "src").glob("*.py"))
            view = variant if has_program else RevisionView.MODEL
            shown = view if mode is Mode.REVISE else None
            listed.append(WorkspaceTask(folder.name, int(parts[1]), mode, shown, folder, question))
    if not listed:
        raise WorkspaceError(f"no view of {mode} in {shorten_path(views)}; expected for example made_001_{mode}")
    return tuple(sorted(listed, key=lambda task: task.number))[:limit]


def fitting_subject(root: Path, variant: RevisionView) -> RevisionView:
    """Return the variant that the revisions of a set support. If none has a program, only the formulation is shown."""
    shown = {task.variant for task in list_tasks(root, Mode.REVISE, variant)}
    return RevisionView.MODEL if shown == {RevisionView.MODEL} else variant


def lay_out(task: WorkspaceTask, folder: Path) -> Path:
    """Copy the visible files of a task into a new folder; an incomplete folder is replaced."""
    shown = list_files(task.view)
    if task.variant is not None:
        hidden = SHOWN_OF_ORIGINAL[RevisionView.ALL] - SHOWN_OF_ORIGINAL[task.variant]
        shown = {path: file for path, file in shown.items() if role_of(path) not in hidden}
    try:
        shutil.rmtree(folder, ignore_errors=True)
        for path, file in shown.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(read_bytes(file))
        if task.mode in PROGRAM:
            (folder / PROGRAM[task.mode]).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WorkspaceError(
            f"cannot copy the task into {shorten_path(folder)}: {error.strerror}; free disk space and repeat"
        ) from None
    return folder
