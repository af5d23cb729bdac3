"""Files of a workspace, figures that are added to its table, and what commands leave in it; nothing runs here."""

import errno
import fcntl
from pathlib import Path

import pytest

from oragent._base.errors import WorkspaceError
from oragent._base.files import LockHeld
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective, Variable
from oragent.modelling.data.model_values import Sense
from oragent.modelling.files.model_files import write
from oragent.workspace import folder as folder_module
from oragent.workspace.folder import (
    NO_FIGURES,
    PENDING_FILE,
    WELCOME,
    PendingVerb,
    WorkspaceFolder,
    add_parameters,
    clear_pending,
    create_from_model,
    read_pending,
    save_pending,
)
from oragent.workspace.layout import FileRole
from oragent.workspace.reading import LOCK
from oragent.workspace.settings import EffortOptions
from oragent.workspace.tables import PARAMETERS_HEADER
from tests.workspace.release import put

HEADER = ",".join(PARAMETERS_HEADER)
PLAIN = "Parameter_Name,Value\nx,1\n"
COMMAS = "Parameter_Name;Value\nx;1,5\n"


@pytest.mark.parametrize(
    ("table", "new", "rows"),
    [
        # Without a table, or with an empty one, the usual header comes first.
        ("", [{"name": "y", "value": 2}], f"{HEADER}\ny,2,,\n"),
        ("", [], f"{HEADER}\n"),
        (" \n", [{"name": "y"}], f"{HEADER}\ny,,,\n"),
        (NO_FIGURES, [{"name": "y", "unit": "t"}], "y,,t,\n"),
        # A table whose last line has no end gets one, if anything is added.
        (PLAIN[:-1], [{"name": "y", "value": "2"}], "\ny,2\n"), (PLAIN[:-1], [{"name": "x", "value": "2"}], ""), (PLAIN, [], ""),
        (PLAIN.replace("\n", "\r\n")[:-2], [{"name": "y"}], "\r\ny,\r\n"),
        # Names that are there, names that come twice, and no names.
        (PLAIN, [{"name": " x ", "value": "2"}, {"value": "2"}, {"name": " "}, {"name": None, "value": "7"}], ""),
        (PLAIN, [{"name": "y", "value": "1"}, {"name": "y ", "value": "2"}], "y,1\n"),
        (PLAIN, [{"name": "1", "value": "3"}], "1,3\n"), ("Parameter_Name,Unit\nx,t\n", [{"name": "t", "unit": "u"}], "t,u\n"),
        ("Value,Unit\n1,t\n", [{"name": "t", "value": "2"}], "2,\n"), ("\nParameter_Name,Value\nx,1\n", [{"name": "y"}], "y,\n"),
        ("Name,Value\nx,1\n", [{"name": "x", "value": "2"}, {"name": "y", "value": "2"}], "y,2\n"),
        ("Value,Parameter_Name\n1,x\n", [{"name": "x", "value": "2"}], ""),
        # Figures in the notation of the table; texts stay.
        (PLAIN, [{"name": "y", "value": "1.5"}], "y,1.5\n"), (COMMAS, [{"name": "y", "value": "1.5"}], "y;1,5\n"),
        (COMMAS, [{"name": "y", "value": "1,200.5"}], "y;1200,5\n"), (COMMAS, [{"name": "y", "value": "v1.5"}], "y;v1.5\n"),
        # One line each, of at most 300 characters.
        (PLAIN, [{"name": "a\nb", "value": "v" * 301}], f"a b,{'v' * 299}…\n"),
        (PLAIN, [{"name": "n" * 300, "value": "v"}], f"{'n' * 300},v\n"),
        (PLAIN, [{"name": 'a,"b"', "value": "a\tb"}], '"a,""b""",a·b\n'),
    ],
)  # fmt: skip
def test_new_parameters_are_rows_of_the_table(table: str, new: list[dict], rows: str) -> None:
    assert add_parameters(table, new) == table + rows


@pytest.mark.parametrize(
    ("text", "roles"),
    [
        ("program: plan.py\n", {FileRole.CODE: ["plan.py"]}),
        ("program: plan.py\ndocuments: ['*.md']\n", {FileRole.CODE: ["plan.py"], FileRole.DOCUMENT: ["a.md", "docs/b.md"]}),
        ("program: plan.py\ndata: [in/*]\n", {FileRole.CODE: ["plan.py"], FileRole.TABLE: ["in/t.csv"]}),
        # Without a program, folders have their usual roles.
        ("time: 60\n", {FileRole.DOCUMENT: ["docs/b.md"], FileRole.TABLE: ["data/u.csv"], FileRole.CODE: ["src/c.py"]}),
    ],
)  # fmt: skip
def test_roles_of_files_are_those_of_the_settings(text: str, roles: dict[FileRole, list[str]], tmp_path: Path) -> None:
    paths = ["plan.py", "helper.py", "a.md", "docs/b.md", "in/t.csv", "data/u.csv", "src/c.py"]
    put(
        tmp_path,
        {**dict.fromkeys(paths, "x"), "workspace.yaml": text, "run.db": "", ".oragent/x": "", "report.html": ""},
    )
    home = WorkspaceFolder(tmp_path)
    assert set(home.list_files()) == {*paths, "workspace.yaml"}
    opened = home.open_workspace()
    found = {role: list(opened.of_role(role)) for role in FileRole if role is not FileRole.OTHER}
    assert {role: files for role, files in found.items() if files} == roles
    assert home.find_program() == ("plan.py" if "program" in text else "src/c.py")


@pytest.mark.parametrize(
    ("paths", "missing"),
    [(["docs/a.md"], "no file in data;"), (["data/a.csv"], "no file in docs;"), (["docs.md", "database/x"], "docs and data;")],
)  # fmt: skip
def test_a_folder_without_documents_or_data_names_what_is_missing(
    paths: list[str], missing: str, tmp_path: Path
) -> None:
    put(tmp_path, dict.fromkeys(paths, "x"))
    home = WorkspaceFolder(tmp_path)
    with pytest.raises(WorkspaceError) as caught:
        home.open_workspace()
    assert missing in str(caught.value)
    assert home.find_program() == ""


def test_a_workspace_states_no_task_while_all_documents_are_the_first_ones(tmp_path: Path) -> None:
    home = WorkspaceFolder(tmp_path)
    put(tmp_path, {"docs/a.md": WELCOME, "data/a.csv": "x", "readme.md": "x"})
    assert home.is_unwritten()
    for content in (b"A task.\n", b"caf\xe9\n"):
        (tmp_path / "docs/b.md").write_bytes(content)
        assert not home.is_unwritten()


def test_answers_are_files_and_never_written_through_links(tmp_path: Path) -> None:
    home, outside = WorkspaceFolder(tmp_path / "w"), tmp_path / "outside"
    outside.mkdir()
    home.folder.mkdir()
    for text in ("first\n", "second\n"):
        home.write_answer("ask-1", text)
        assert (home.folder / "answers/ask-1.md").read_text() == text
    (home.folder / "answers/ask-2.md").symlink_to(outside / "a.md")
    with pytest.raises(WorkspaceError):
        home.write_answer("ask-2", "text")
    for name, make in (("linked", lambda path: path.symlink_to(outside)), ("file", lambda path: path.write_text("x"))):
        (tmp_path / name).mkdir()
        make(tmp_path / name / "answers")
        with pytest.raises(WorkspaceError):
            WorkspaceFolder(tmp_path / name).write_answer("ask-1", "text")
    assert not list(outside.iterdir())


def test_a_lock_names_its_holder_in_200_characters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = WorkspaceFolder(tmp_path)
    # The holder may have written nothing yet.
    with home.locked("run"):
        pass
    (tmp_path / LOCK).write_text("")
    with (tmp_path / LOCK).open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(WorkspaceError, match="another process"), home.locked("run"):
            pass

    for error, start in (
        (LockHeld("h" * 300), f"{'h' * 199}… works"),
        (OSError(errno.ENOLCK, "No locks"), str(tmp_path)),
    ):
        monkeypatch.setattr(folder_module, "hold_lock", lambda path, note, error=error: raise_error(error))
        with pytest.raises(WorkspaceError) as caught, home.locked("run"):
            pass
        assert str(caught.value).startswith(start)


def raise_error(error: Exception) -> None:
    raise error


def test_drafts_are_in_a_folder_of_oragent(tmp_path: Path) -> None:
    home = WorkspaceFolder(tmp_path)
    assert home.draft_folder("build-1") == tmp_path / ".oragent/drafts/build-1"
    (tmp_path / ".oragent").symlink_to(tmp_path.parent)
    with pytest.raises(WorkspaceError):
        home.draft_folder("build-1")


def test_a_verb_is_stored_with_all_its_arguments_until_it_ends(tmp_path: Path) -> None:
    assert read_pending(tmp_path) is None
    clear_pending(tmp_path)
    pending = PendingVerb(
        "revise", "Käse", True, True, EffortOptions(time=3.5, seed=2), {"model": {"name": "m"}}, "?", ("a", "b")
    )
    for verb in (PendingVerb("ask"), pending):
        save_pending(tmp_path, verb)
        assert read_pending(tmp_path) == verb
    # Its text can be read in the file.
    assert "Käse" in (tmp_path / PENDING_FILE).read_text()
    clear_pending(tmp_path)
    assert read_pending(tmp_path) is None
    (tmp_path / ".oragent").rmdir()
    (tmp_path / ".oragent").write_text("no folder")
    with pytest.raises(WorkspaceError):
        save_pending(tmp_path, pending)


def test_files_beside_a_model_are_taken_in_alphabetical_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled: dict[str, str] = {}
    monkeypatch.setattr(folder_module, "_fill_folder", lambda folder, contents, *words: filled.update(contents))
    model = IndexedModel.from_records((Variable("x", 0.0, 4.0),), (), Objective({"x": 2.0}), Sense.MAXIMIZE)
    names = ["a.md", "b.csv", "c.txt", "d.csv"]
    put(tmp_path, dict.fromkeys(names, "a,b\n"))
    write(model, tmp_path / "milp.json")
    monkeypatch.setattr(Path, "iterdir", lambda folder: iter([folder / name for name in (*names[::-1], "milp.json")]))
    create_from_model(tmp_path, tmp_path / "w")
    assert list(filled)[:4] == ["docs/a.md", "data/b.csv", "docs/c.txt", "data/d.csv"]


@pytest.mark.parametrize(
    ("name", "meaning", "text"),
    [
        ("bread", "Bake.", "# bread\n\nBake.\n"),
        ("", "", f"# A model\n\n{WELCOME}\n"),
        ("bread", "", f"# bread\n\n{WELCOME}\n"),
    ],
)
def test_the_requirement_of_a_model_is_its_name_and_its_meaning(
    name: str, meaning: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled: dict[str, str] = {}
    monkeypatch.setattr(folder_module, "_fill_folder", lambda folder, contents, *words: filled.update(contents))
    model = IndexedModel.from_records(
        (Variable("x", 0.0, 4.0),), (), Objective({"x": 2.0}), Sense.MAXIMIZE, name=name, meaning=meaning
    )
    write(model, tmp_path / "m.json")
    create_from_model(tmp_path / "m.json", tmp_path / "w")
    assert filled["docs/business_requirement.md"] == text
    assert list(filled)[1:] == ["data/general_parameters.csv", "src/optimization_model.py"]
    assert "pulp" in filled["src/optimization_model.py"]
