"""Commands on the files and versions of a workspace: what they print, publish and return, with versions in memory."""

import io
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from oragent._base.errors import WorkspaceError
from oragent._base.text_format import one_line
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective, Variable
from oragent.modelling.data.model_values import Sense
from oragent.modelling.files.model_files import write
from oragent.workspace import file_commands
from oragent.workspace.file_commands import (
    check_workspace,
    list_versions,
    new_workspace,
    print_history,
    require_workspace,
    show_diff,
)
from oragent.workspace.versions import FileChange, WorkspaceVersion
from tests.workspace.release import put

FIRST = WorkspaceVersion("a" * 40, 0, "builder", "built, objective 4", ("docs/a.md", "src/b.py"), "build-1")
SECOND = replace(FIRST, id="b" * 40, at=86400, author="person", reason="r" * 99, paths=(), is_foreign=True)


class ReadVersions:
    """Stands for versions that are only read."""

    versions: tuple[WorkspaceVersion, ...] = (FIRST, replace(FIRST, id="c" * 40), SECOND)
    tip = ""

    def __init__(self, folder: Path, readonly: bool = False) -> None:
        assert readonly

    def list_versions(self) -> tuple[WorkspaceVersion, ...]:
        return self.versions

    def find_version(self, name: str) -> WorkspaceVersion:
        return next(version for version in self.versions if version.id.startswith(name))

    def describe_diff(self, version: str) -> str:
        return f"-old\n+{version}"

    def read_changes(self, version: str) -> tuple[FileChange, ...]:
        return (FileChange("a.md", None, version),)


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    results: list[dict[str, Any]] = []
    monkeypatch.setattr(file_commands, "publish_result", results.append)
    return results


@pytest.fixture
def used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(file_commands, "Versions", ReadVersions)
    put(tmp_path / "w", {"workspace.yaml": ""})
    return tmp_path / "w"


def say(work: Callable[[Console], object]) -> tuple[object, list[str]]:
    out = io.StringIO()
    code = work(Console(file=out, width=60))
    return code, out.getvalue().splitlines()


def test_versions_are_listed_with_time_author_reason_and_paths(
    used: Path, published: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ReadVersions, "versions", (FIRST, SECOND))
    _, lines = say(lambda console: print_history((FIRST, SECOND), console))
    at = [time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(version.at)) for version in (FIRST, SECOND)]
    assert lines == [
        f"aaaaaaaaaa {at[0]} builder built, objective 4 (docs/a.md, src/b.py)",
        f"bbbbbbbbbb {at[1]} person of another clone {one_line('r' * 99, 80)} (nothing)",
    ]
    assert say(lambda console: list_versions(used, console)) == (0, lines)
    assert published == [{"verb": "history", "versions": (FIRST, SECOND)}]


@pytest.mark.parametrize(("name", "version"), [("", SECOND), ("aaaa", FIRST)])
def test_a_diff_is_that_of_the_last_or_the_named_version(
    used: Path, published: list[dict[str, Any]], name: str, version: WorkspaceVersion
) -> None:
    assert say(lambda console: show_diff(used, name, console)) == (0, ["-old", f"+{version.id}"])
    changes = (FileChange("a.md", None, version.id),)
    assert published == [{"verb": "diff", "version": version.id, "changes": changes, "diff": f"-old\n+{version.id}"}]


def test_a_diff_needs_a_version(used: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ReadVersions, "versions", ())
    with pytest.raises(WorkspaceError):
        say(lambda console: show_diff(used, "", console))


@pytest.mark.parametrize(
    ("files", "tip", "is_used"),
    [
        ({"run.db": ""}, "", True), ({"workspace.yaml": ""}, "", True), ({".oragent/lock": ""}, "", True), ({"docs/a.md": ""}, "", False), ({"docs/a.md": ""}, "c0ffee", True),
        (None, "c0ffee", False),
    ],
)  # fmt: skip
def test_a_workspace_is_a_folder_that_a_command_has_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str] | None, tip: str, is_used: bool
) -> None:
    monkeypatch.setattr(file_commands, "Versions", ReadVersions)
    monkeypatch.setattr(ReadVersions, "tip", tip)
    put(tmp_path / "w", files or {})
    if not is_used:
        with pytest.raises(WorkspaceError):
            require_workspace(tmp_path / "w")
        return
    require_workspace(tmp_path / "w")
    (tmp_path / "w/report.html").symlink_to(tmp_path)
    with pytest.raises(WorkspaceError):
        require_workspace(tmp_path / "w")


def test_a_new_workspace_lists_its_files(tmp_path: Path, published: list[dict[str, Any]]) -> None:
    model = IndexedModel.from_records((Variable("x", 0.0, 4.0),), (), Objective({"x": 2.0}), Sense.MAXIMIZE)
    write(model, tmp_path / "m.json")
    for name, source, path in (
        ("a", None, "docs/business_requirement.md"),
        ("b", tmp_path / "m.json", "src/optimization_model.py"),
    ):
        folder = tmp_path / name
        code, lines = say(lambda console, folder=folder, source=source: new_workspace(folder, source, console))
        assert (code, f"{folder}/{path}" in lines) == (0, True)
        result = published.pop()
        assert [f"{folder}/{file}" for file in result["files"]] == lines
        assert (result["verb"], result["folder"]) == ("new", folder)


@pytest.mark.parametrize("program", ["", "src/plan.py"])
@pytest.mark.parametrize("has_flaw", [True, False])
def test_a_check_lists_roles_sizes_notes_and_problems(
    tmp_path: Path, published: list[dict[str, Any]], program: str, has_flaw: bool
) -> None:
    table = "Parameter_Name,Value,Unit,Context_Description\n" + ("men,5,,\n" * (1 + has_flaw))
    put(tmp_path, {"docs/a.md": "# Bake\n", "data/general_parameters.csv": table, "data/t.csv": "a;b\n1,5;2\n"})
    if program:
        put(tmp_path, {program: "import pulp\n"})
    out = io.StringIO()
    code = check_workspace(tmp_path, Console(file=out, width=200, force_terminal=True, color_system="standard"))
    lines = out.getvalue().splitlines()
    assert code == int(has_flaw)
    (document,) = [line for line in lines if "docs/a.md" in line]
    assert document == f"{'document':12} docs/a.md (7 bytes)"
    assert any(line.startswith("note: data/t.csv") for line in lines)
    wrong = [line for line in lines if "wrong: " in line]
    assert bool(wrong) is has_flaw
    assert all("\x1b[1;33m" in line for line in wrong)
    assert lines[-1] == f"program: {program or 'none yet'}"
    (result,) = published
    assert (result["verb"], result["ok"], result["program"]) == ("check", not has_flaw, program)
    assert {"path": "docs/a.md", "role": "document", "bytes": 7} in result["files"]
    assert (len(result["problems"]), len(result["notes"])) == (
        len(wrong),
        sum(line.startswith("note: ") for line in lines),
    )
