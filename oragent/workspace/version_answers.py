"""One version of a workspace against another: requirement, data, code, model, objective and decisions."""

import difflib
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from oragent._base.errors import WorkspaceError
from oragent.milp.plain import number
from oragent.workspace import explaining
from oragent.workspace.data_edits import list_edits
from oragent.workspace.facts import VersionFacts, WorkspaceFacts, read_facts
from oragent.workspace.layout import FileRole, role_of
from oragent.workspace.objective import describe_change, is_within_gap
from oragent.workspace.reading import decode_text, list_files, shorten
from oragent.workspace.runner import ProgramRunner
from oragent.workspace.versions import FOLDERS, Versions
from oragent.workspace.what_if import describe_moves

COMPARES = re.compile(
    r"\bversions?\b|\b(?:what|which|how|why|did|has)\b.*\b(?:changed|different|differs?|new)\b|\bcompare\b|\bsince\b|"
    r"\blast (?:revision|change|build)\b|\bbefore the (?:revision|change)\b|\bdifferences?\b",
    re.IGNORECASE,
)
NUMBERED = re.compile(r"\bversions?\s+(\d+)(?:\s*(?:and|to|with|against|versus|vs\.?|-)\s*(?:version\s+)?(\d+))?", re.I)
MOST = 12  # lines of each kind


def asks_for_comparison(question: str) -> bool:
    """Return True if a question is about two versions of the workspace."""
    return bool(COMPARES.search(question)) and not re.search(r"\bif\b", question, re.IGNORECASE)


def lay_out_versions(versions: Versions, folder: Path, question: str) -> str:
    """Write the two versions that a question means into an empty folder, as ``original`` and ``revised``.

    The question names versions by number, or means the last change. Returns the names of the two.

    Raises:
        WorkspaceError: There is no such version, or nothing to compare.
    """
    first, second = _find_span(versions, question)
    _lay_out_version(versions, first, folder / "original")
    _lay_out_version(versions, second, folder / "revised")
    return f"version {first} against {'the present files' if second is None else f'version {second}'}"


def compare_versions(folder: Path, names: str, runner: ProgramRunner) -> str:
    """Answer what changed between two named versions in a folder, in Markdown."""
    facts = read_facts(folder, list_files(folder), runner)
    assert facts.original is not None
    lines = [f"This is {names}.", ""]
    for title, part in (
        ("Objective", _compare_objectives(facts.original, facts.revised)),
        ("Decisions", _compare_decisions(facts.original, facts.revised)),
        ("Requirement", _compare_texts(facts.original, facts.revised, FileRole.DOCUMENT)),
        ("Data", _compare_data(facts.original, facts.revised)),
        ("Code", _compare_texts(facts.original, facts.revised, FileRole.CODE)),
        ("Model", _compare_models(facts, runner)),
    ):
        lines += [f"## {title}", "", *(list(part) or ["- nothing changed"]), ""]
    return "\n".join(lines)


def _find_span(versions: Versions, question: str) -> tuple[int, int | None]:
    """Numbers of the two versions that a question means; None for the present files."""
    match = NUMBERED.search(question)
    if match is not None:
        first, second = int(match[1]), int(match[2]) if match[2] else None
        for name in (first, *([second] if second else [])):
            versions.read_version(name)
        return (min(first, second), max(first, second)) if second else (first, None)
    history = versions.list_versions(contents=False)
    folders = tuple(f"{folder}/" for folder in FOLDERS)
    changing = [one for one in history if any(change.path.startswith(folders) for change in one.changes)]
    if not changing or changing[-1].number == 1:
        raise WorkspaceError("nothing has changed since the workspace began: there are no two versions to compare")
    verb = changing[-1].verb
    members = [version.number for version in history if verb and version.verb == verb]
    return min([*members, changing[-1].number]) - 1, None


def _lay_out_version(versions: Versions, at: int | None, folder: Path) -> None:
    for path in versions.list_paths():
        content = versions.read_file(path) if at is None else versions.content_at(path, at)[1]
        if path.partition("/")[0] in FOLDERS and content is not None:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)
    folder.mkdir(parents=True, exist_ok=True)


def _compare_objectives(old: VersionFacts, new: VersionFacts) -> Iterator[str]:
    states = [_describe_state(version) for version in (old, new)]
    change = describe_change(old.solution, new.solution)
    yield f"- {states[0]} → {states[1]}{f', {change}' if change else ''}"


def _describe_state(version: VersionFacts) -> str:
    if version.solution is None:
        return "no model" if version.program else "no program"
    objective, standing = version.solution.objective, version.solution.standing
    return standing if objective is None else f"{number(objective)} ({standing})"


def _compare_decisions(old: VersionFacts, new: VersionFacts) -> Iterator[str]:
    if old.solution and new.solution and old.solution.values and new.solution.values:
        if is_within_gap(old.solution, new.solution):
            yield "- No plan is shown to be better than the other: the difference lies within the gap."
        yield from describe_moves(old.solution.values, new.solution.values)


def _texts_of(version: VersionFacts, role: FileRole) -> dict[str, str]:
    texts = {}
    for path, content in _read_files(version, role).items():
        with suppress(WorkspaceError):
            texts[path] = decode_text(content, path)
    return texts


def _compare_texts(old: VersionFacts, new: VersionFacts, role: FileRole) -> Iterator[str]:
    texts = [_texts_of(version, role) for version in (old, new)]
    for path in dict.fromkeys([*texts[0], *texts[1]]):
        before, after = (text.get(path, "").splitlines() for text in texts)
        diff = [line for line in difflib.ndiff(before, after) if line[0] in "+-" and line[1:].strip()]
        if diff:
            gone, added = (sum(line[0] == sign for line in diff) for sign in "-+")
            yield f"- {path}: {added} lines added, {gone} removed"
            yield from (f"    {shorten(line, 150)}" for line in diff[:MOST])
            if len(diff) > MOST:
                yield f"    and {len(diff) - MOST} more"


def _compare_data(old: VersionFacts, new: VersionFacts) -> Iterator[str]:
    edits = list_edits(*(_read_files(version, FileRole.TABLE, FileRole.PARAMETERS) for version in (old, new)))
    yield from (f"- {edit}" for edit in edits[: 2 * MOST])
    if len(edits) > 2 * MOST:
        yield f"- and {len(edits) - 2 * MOST} more cells"


def _read_files(version: VersionFacts, *roles: FileRole) -> dict[str, bytes]:
    files = {path: file for path, file in version.files.items() if role_of(path) in roles}
    return {path.removeprefix(version.prefix): file.read_bytes() for path, file in files.items()}


def _compare_models(facts: WorkspaceFacts, runner: ProgramRunner) -> Iterator[str]:
    for statement in (*explaining.state_rules(facts), *explaining.state_changes(facts, runner)):
        yield f"- {replace(statement, sources=())}"
