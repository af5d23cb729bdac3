"""Commands of ``oragent workspace`` that call no model and run no program."""

import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from oragent._base.errors import WorkspaceError
from oragent._base.publishing import publish_result
from oragent._base.terminal import print_line
from oragent._base.text_format import one_line
from oragent.workspace.folder import WorkspaceFolder, create_from_model, create_workspace, describe_next_step
from oragent.workspace.layout import find_notes
from oragent.workspace.reading import refuse_links, shorten_path
from oragent.workspace.versions import Versions, WorkspaceVersion


def new_workspace(folder: Path, source: Path | None, console: Console) -> int:
    """Create a workspace, empty or from a run or a model file."""
    home = create_workspace(folder) if source is None else create_from_model(source, folder)
    for path in home.list_files():
        print_line(console, f"{folder}/{path}")
    publish_result({"verb": "new", "folder": folder, "files": list(home.list_files())})
    return 0


def check_workspace(folder: Path, console: Console) -> int:
    """Print the contents of a workspace and its problems; return exit code 1 if it has problems."""
    home = WorkspaceFolder(folder)
    opened = home.open_workspace()
    findings = home.find_flaws()
    files = [
        {"path": path, "role": opened.role_of(path), "bytes": file.stat().st_size}
        for path, file in opened.files.items()
    ]
    notes = find_notes(opened)
    for entry in files:
        print_line(console, f"{entry['role']:12} {entry['path']} ({entry['bytes']} bytes)")
    for note in notes:
        print_line(console, f"note: {note}")
    for finding in findings:
        print_line(console, f"wrong: {finding}", style="bold yellow")
    program = home.find_program()
    console.print(Text(f"program: {program or 'none yet'}"))
    texts = {"notes": list(map(str, notes)), "problems": list(map(str, findings)), "program": program}
    publish_result({"verb": "check", "ok": not findings, "files": files, **texts})
    return 1 if findings else 0


def list_versions(folder: Path, console: Console) -> int:
    """List the versions of a workspace."""
    require_workspace(folder)
    versions = Versions(folder, readonly=True).list_versions()
    print_history(versions, console)
    publish_result({"verb": "history", "versions": versions})
    return 0


def print_history(versions: Sequence[WorkspaceVersion], console: Console) -> None:
    """Print one line for each version."""
    for version in versions:
        at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(version.at))
        paths = ", ".join(version.paths) or "nothing"
        clone = " of another clone" if version.is_foreign else ""
        summary = f"{one_line(version.author)}{clone} {one_line(version.reason, 80)} ({one_line(paths)})"
        print_line(console, f"{version.short} {at} {summary}")


def show_diff(folder: Path, version: str, console: Console) -> int:
    """Print the changes of a version, by default of the last one."""
    require_workspace(folder)
    versions = Versions(folder, readonly=True)
    every = versions.list_versions()
    if not every:
        raise WorkspaceError(f"{shorten_path(folder)} has no versions yet")
    chosen = versions.find_version(version) if version else every[-1]
    text = versions.describe_diff(chosen.id)
    print_line(console, text)
    publish_result({"verb": "diff", "version": chosen.id, "changes": versions.read_changes(chosen.id), "diff": text})
    return 0


def require_workspace(folder: Path) -> None:
    """Raise an error if a folder contains links, or if no command has used it as a workspace."""
    traces = (folder / name for name in ("run.db", "workspace.yaml", ".oragent"))
    is_used = folder.is_dir() and (any(trace.exists() for trace in traces) or Versions(folder, readonly=True).tip)
    if not is_used:
        next_step = describe_next_step(folder)
        raise WorkspaceError(f"no workspace at {shorten_path(folder)}: no command has written a version; {next_step}")
    refuse_links(folder)
