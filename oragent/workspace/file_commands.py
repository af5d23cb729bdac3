"""Commands of ``oragent workspace`` that call no model and run no program."""

import time
from pathlib import Path

from rich.console import Console
from rich.text import Text

from oragent._base.errors import WorkspaceError
from oragent._base.publishing import publish_result
from oragent._base.terminal import print_line
from oragent._base.text_format import one_line
from oragent.workspace.folder import WorkspaceFolder, create_from_run, create_workspace, describe_next_step
from oragent.workspace.layout import find_notes, list_manifest
from oragent.workspace.reading import refuse_links, shorten_path
from oragent.workspace.versions import Versions


def new_workspace(folder: Path, source: Path | None, console: Console) -> int:
    """Create a workspace, empty or from a run."""
    if source is None:
        home = create_workspace(folder)
    else:
        home = create_from_run(source, folder)
    publish_result({"folder": folder, "files": list(home.list_files())})
    for path in home.list_files():
        print_line(console, f"{folder}/{path}")
    return 0


def check_workspace(folder: Path, console: Console) -> int:
    """Print the contents of a workspace and its problems; return exit code 1 if it has problems."""
    home = WorkspaceFolder(folder)
    findings = home.find_flaws()
    files, notes = list(list_manifest(home.open_workspace())), list(find_notes(home.open_workspace()))
    program = home.find_program()
    publish_result({"program": program, "files": files, "notes": notes, "problems": list(findings)})
    for entry in files:
        print_line(console, f"{entry.role:12} {entry.path} ({entry.size} bytes)")
    for note in notes:
        print_line(console, f"note: {note}")
    for finding in findings:
        print_line(console, f"wrong: {finding}", style="bold yellow")
    console.print(Text(f"program: {program or 'none yet'}"))
    if findings:
        return 1
    return 0


def list_versions(folder: Path, console: Console) -> int:
    """List the versions of a workspace."""
    require_workspace(folder)
    every = list(Versions(folder, readonly=True).list_versions())
    publish_result({"versions": every})
    for version in every:
        at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(version.at))
        paths = ", ".join(version.paths) or "nothing"
        clone = " of another clone" if version.is_foreign else ""
        summary = f"{one_line(version.author)}{clone} {one_line(version.reason, 80)} ({one_line(paths)})"
        print_line(console, f"{version.short} {at} {summary}")
    return 0


def show_diff(folder: Path, version: str, console: Console) -> int:
    """Print the changes of a version, by default of the last one."""
    require_workspace(folder)
    versions = Versions(folder, readonly=True)
    every = versions.list_versions()
    if not every:
        raise WorkspaceError(f"{shorten_path(folder)} has no versions yet")
    chosen = versions.find_version(version) if version else every[-1]
    text = versions.describe_diff(chosen.id)
    publish_result({"version": chosen.id, "diff": text})
    print_line(console, text)
    return 0


def require_workspace(folder: Path) -> None:
    """Raise an error for a folder that contains links or that no command has used as a workspace."""
    if not folder.is_dir() or not (Versions(folder, readonly=True).tip or (folder / "run.db").is_file()):
        next_step = describe_next_step(folder)
        raise WorkspaceError(f"no workspace at {shorten_path(folder)}: no version of a command; {next_step}")
    refuse_links(folder)
