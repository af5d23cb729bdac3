"""A folder is a workspace, or one line says what is missing; whatever is wrong with its files is listed."""

import os
from pathlib import Path

import pytest

from oragent._base import table_dialects as dialects
from oragent._base.errors import WorkspaceError
from oragent.workspace import layout, tables
from oragent.workspace.layout import FileRole, Mode, WorkspaceLayout
from tests.workspace.release import put


@pytest.fixture
def bakery(tmp_path: Path) -> Path:
    folder = tmp_path / "bakery"
    (folder / "docs").mkdir(parents=True)
    (folder / "data").mkdir()
    (folder / "docs" / "requirements.md").write_text("Bake for the least cost.\n")
    (folder / "data" / "ovens.csv").write_text("oven,cost (EUR)\nA,3\nB,5\n")
    (folder / "data" / "general_parameters.csv").write_text(
        "Parameter_Name,Value,Unit,Context_Description\ndemand,120,loaves,per day\n"
    )
    return folder


def found(folder: Path) -> list[str]:
    return [str(finding) for finding in layout.find_flaws(layout.open_workspace(folder))]


def test_a_clean_workspace_has_a_manifest_and_no_findings(bakery: Path) -> None:
    workspace = layout.open_workspace(bakery)
    assert workspace.mode is Mode.BUILD
    assert layout.find_flaws(workspace) == ()
    (bakery / "README.md").write_text("for people")
    (bakery / "src").mkdir()
    (bakery / "src" / ".gitkeep").touch()
    (bakery / "answers").mkdir()
    (bakery / "answers" / "ask-12.md").write_text("# What limits rye?\n\nFlour.\n")  # as ``ask`` writes it
    assert found(bakery) == []
    (bakery / "answers" / "mine.md").write_text("no answer of the tool")
    assert found(bakery) == ["answers/mine.md is no kind of file that a workspace has"]


@pytest.mark.parametrize(
    ("path", "role"),
    [
        ("metadata.json", FileRole.METADATA),
        ("README.md", FileRole.OTHER),
        ("docs/mails/one.eml", FileRole.DOCUMENT),
        ("data/costs.csv", FileRole.TABLE),
        ("data/costs.json", FileRole.PARAMETERS),
        ("data/costs.xlsx", FileRole.TABLE),
        ("original/src/model.py", FileRole.CODE),
        ("revised/src/formulation.tex", FileRole.FORMULATION),
        ("original/logs/run.log", FileRole.LOG),
        ("revised/solver_records/m.solution.json", FileRole.RECORD),
        ("revised/metadata.json", FileRole.OTHER),
        ("data/general_parameters.csv", FileRole.PARAMETERS),
        ("data/COSTS.CSV", FileRole.TABLE),
        ("data/costs.bin", FileRole.OTHER),
        ("data/a/b/costs.tsv", FileRole.TABLE),
        ("data.csv", FileRole.OTHER),
        ("original/data.csv", FileRole.OTHER),
        ("src/a.txt", FileRole.OTHER),
        ("requests/a.md", FileRole.REQUEST),
        ("other/a.md", FileRole.OTHER),
    ],
)
def test_a_file_plays_the_part_of_its_place(path: str, role: FileRole) -> None:
    assert layout.role_of(path) is role


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match="the folder does not exist"):
        layout.open_workspace(tmp_path / "nowhere")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "brief.md").write_text("x")
    with pytest.raises(WorkspaceError, match="no file in data; expected docs/ and data/"):
        layout.open_workspace(tmp_path)
    (tmp_path / "original").mkdir()
    (tmp_path / "original" / "x").touch()
    with pytest.raises(WorkspaceError, match="original/docs, original/data, revised/docs, revised/data"):
        layout.open_workspace(tmp_path)


def test_two_versions_make_it_revise_and_a_question_explain(tmp_path: Path) -> None:
    for version in ("original", "revised"):
        for folder in ("docs", "data"):
            (tmp_path / version / folder).mkdir(parents=True)
            (tmp_path / version / folder / "a.md").write_text("x")
    assert layout.open_workspace(tmp_path).mode is Mode.REVISE
    with pytest.raises(WorkspaceError, match=r"metadata\.json"):
        layout.open_workspace(tmp_path, Mode.EXPLAIN)
    (tmp_path / "metadata.json").write_text('{"explain_task": {"question": "Why?"}}')
    assert layout.open_workspace(tmp_path).mode is Mode.EXPLAIN


@pytest.mark.parametrize(
    ("path", "content", "finding"),
    [
        ("data/costs.csv", b"item,cost\na,1,2\n", "data/costs.csv line 2 has 3 cells"),
        ("data/costs.csv", b"", "data/costs.csv is empty"),
        (
            "data/costs.csv",
            b"\x89PNG\r\n\x1a\n\xff",
            "cannot be used: it is not a text in UTF-8, UTF-16 or Windows-1252",
        ),
        ("data/costs.json", b"{", "data/costs.json cannot be used: it is not JSON"),
        ("data/costs.xls", b"PK\x03\x04", "is a spreadsheet that is not read: save it as .xlsx or CSV"),
        ("data/costs.bin", b"PK\x03\x04", "is no kind of file that a workspace has"),
        ("data/general_parameters.csv", b"", "data/general_parameters.csv is empty"),
        ("data/general_parameters.csv", b"item,cost\na,1\n", "begins with item, cost; expected Parameter_Name"),
        ("data/general_parameters.csv", b"Parameter_Name,Value\na,\n", "gives 'a' no value"),
        ("data/general_parameters.csv", b"Parameter_Name,Value\na,1\na,2\n", "names 'a' twice"),
        ("docs/brief.pdf", b"%PDF-1.7", "docs/brief.pdf cannot be used: it.pdf is a PDF"),
        ("docs/brief.md", b"%PDF-1.7", "docs/brief.md is of another kind (PDF)"),
        ("docs/brief.docx", b"PK\x03\x04", "it.docx cannot be read as a Word document"),
        ("docs/brief.html", b"<p>", "is no text document"),
        ("docs/brief.md", b" \n", "docs/brief.md is empty: expected requirements"),
        ("data/costs.xlsx", b"item,cost\na,1\n", "is no Excel workbook"),
        ("data/costs.ods", b"PK\x03\x04", "is a spreadsheet that is not read"),
        ("notes/brief.md", b"text", "is no kind of file"),
        ("data/README.txt", b"text", "is no kind of file"),
        ("mine.csv", b"a,b\n1,2\n", "is no kind of file"),
    ],
)
def test_each_fault_is_one_line_with_its_file(bakery: Path, path: str, content: bytes, finding: str) -> None:
    (bakery / path).parent.mkdir(exist_ok=True)
    (bakery / path).write_bytes(content)
    findings = found(bakery)
    assert len(findings) == 1
    assert finding in findings[0]
    assert "\n" not in findings[0]


def test_a_file_too_large_and_a_hostile_name_stay_one_line(bakery: Path) -> None:
    with (bakery / "data" / "huge.csv").open("wb") as file:
        file.truncate(2 << 30)
    (bakery / "data" / "evil\x1b[2J\n.csv").write_text("item,item\na,b\n")
    findings = found(bakery)
    assert any("larger than 256 MiB" in finding for finding in findings)
    assert all(finding.isprintable() for finding in findings)


def test_links_and_devices_are_no_part_of_a_workspace(bakery: Path) -> None:
    os.mkfifo(bakery / "data" / "pipe.csv")
    with pytest.raises(WorkspaceError):
        layout.open_workspace(bakery)
    (bakery / "data" / "pipe.csv").unlink()
    (bakery / "data" / "all.csv").symlink_to("ovens.csv")
    with pytest.raises(WorkspaceError):
        layout.open_workspace(bakery)


def open_files(folder: Path, files: dict[str, str], **options) -> WorkspaceLayout:
    """Layout of files in the given order."""
    put(folder, files)
    return WorkspaceLayout(Mode.BUILD, {path: folder / path for path in files}, {}, **options)


PATTERNS = {FileRole.CODE: ["plan.py"], FileRole.TABLE: ["in/*"], FileRole.DOCUMENT: ["*.md", "gone.txt"]}


@pytest.mark.parametrize(
    ("path", "role"),
    [
        ("plan.py", FileRole.CODE), ("in/a.csv", FileRole.TABLE), ("in/b.md", FileRole.TABLE), ("a.md", FileRole.DOCUMENT),
        ("docs/a.txt", FileRole.OTHER), ("in/general_parameters.csv", FileRole.PARAMETERS), ("general_parameters.csv", FileRole.OTHER),
    ],
)  # fmt: skip
def test_patterns_give_roles_in_their_order(path: str, role: FileRole) -> None:
    opened = WorkspaceLayout(Mode.BUILD, {path: Path(path)}, {}, PATTERNS)
    assert opened.role_of(path) is role
    others = [each for each in FileRole if each is not role]
    assert (list(opened.of_role(role, others[0])), opened.of_role(*others)) == ([path], {})


def test_files_of_a_team_without_a_role_are_no_flaws(tmp_path: Path) -> None:
    """Code and databases are read by the program of the team; a pattern without a file is named."""
    files = {"plan.py": "", "Makefile": "", "in/t.csv": "a,a\n1,2\n", "in/u.db": "x", "in/v.xls": "x", "a.md": " "}
    flaws = [str(flaw) for flaw in layout.find_flaws(open_files(tmp_path, files, patterns=PATTERNS))]
    assert [flaw.partition(" ")[0] for flaw in flaws] == ["a.md", "in/t.csv", "in/v.xls", "workspace.yaml"]
    assert "gone.txt" in flaws[-1]
    assert "document" in flaws[-1]


def test_problems_and_readings_are_listed_by_path_whatever_the_order_of_files(tmp_path: Path) -> None:
    """Figures such as 2.300 beside whole ones, with commas elsewhere or in the first place, have two readings."""
    unclear = "item;tons\na;950\nb;2.300\n"
    files = {
        "data/u.csv": unclear, "data/b.csv": "a;b\n1;2\n", "data/a.TSV": "a\tb\n1\t2,5\n", "data/general_parameters.csv": unclear,
        "docs/z.md": "plain", "src/a.csv": unclear, "data/c.csv": "a,b\n1,2\n",
    }  # fmt: skip
    opened = open_files(tmp_path, files)
    (tmp_path / "docs/y.md").write_bytes("Käse".encode("utf-16"))
    (tmp_path / "docs/x.docx").write_bytes(b"PK\x03\x04")
    more = {"docs/y.md": tmp_path / "docs/y.md", "docs/x.docx": tmp_path / "docs/x.docx"}
    opened = WorkspaceLayout(Mode.BUILD, {**more, **opened.files}, {})
    notes = {note.path: note.what for note in layout.find_notes(opened)}
    assert list(notes) == ["data/a.TSV", "data/b.csv", "data/general_parameters.csv", "data/u.csv", "docs/y.md"]
    assert "UTF-16" in notes["docs/y.md"]
    assert "decimal commas" in notes["data/a.TSV"]
    assert "UTF" not in notes["data/a.TSV"]
    flaws = list(layout.find_number_flaws(opened.files))
    assert [flaw.path for flaw in flaws] == ["data/general_parameters.csv", "data/u.csv"]
    assert all(dialects.TWO_READINGS in flaw.what for flaw in flaws)
    found = [flaw.path for flaw in layout.find_flaws(opened)]
    assert found == ["data/general_parameters.csv", "data/u.csv", "docs/x.docx", "src/a.csv"]


def test_a_problem_of_a_sheet_names_it_in_at_most_40_characters(tmp_path: Path) -> None:
    name = "s" * 60
    text = f"{dialects.SHEET}{name}\na;a\n1;950\n2;2.300\n"
    opened = open_files(tmp_path, {"data/t.csv": text})
    texts = [flaw.what for flaw in (*layout.find_flaws(opened), *layout.find_number_flaws(opened.files))]
    texts += [note.what for note in layout.find_notes(opened)]
    assert len(texts) >= 4
    assert all(f"(sheet {name[:39]}…) " in text for text in texts)


@pytest.mark.parametrize(
    ("files", "flawed"),
    [
        ({"data/general_parameters.csv": "Parameter_Name,Value\n"}, ["data/general_parameters.csv"]),
        ({"data/general_parameters.csv": "Parameter_Name,Value\n", "docs/a.md": "x"}, ["data/general_parameters.csv"]),
        ({"data/general_parameters.csv": "Parameter_Name,Value\n", "data/t.csv": "a\n1\n"}, []),
        ({"data/general_parameters.csv": "", "data/t.csv": "a\n1\n"}, ["data/general_parameters.csv"]),
        ({"data/u.csv": "a,b\n", "data/t.csv": "a\n1\n"}, ["data/u.csv"]),
    ],
)
def test_general_parameters_may_be_empty_beside_other_data(tmp_path: Path, files: dict, flawed: list[str]) -> None:
    assert [flaw.path for flaw in layout.find_flaws(open_files(tmp_path, files))] == flawed
    header = ",".join(tables.PARAMETERS_HEADER)
    assert tables.read_table(f"{header}\n").flaws == (tables.NO_ROWS,)
