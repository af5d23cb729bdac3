"""What agents see and may write: figures with sources, whole tables, databases, gaps, and what-ifs on cells."""

import sqlite3
from pathlib import Path

import pytest

from oragent.llm.model import ToolCall
from oragent.sandbox.sandbox import Sandbox
from oragent.workspace.model_commands import check_text
from oragent.workspace.runner import ProgramRunner
from oragent.workspace.settings import NO_OPTIONS, read_settings
from oragent.workspace.sources import FolderState
from oragent.workspace.tables import read_row_dicts
from oragent.workspace.tools import SET_CELL, TOOLS, WRITE_PARAMETERS, ToolSession
from tests.workspace.bakery import DATA, PROGRAM
from tests.workspace.release import put

STORY = "Flour: 100 kg.\nAt most four carts are rented, and two thirds of a dozen drivers work.\nFrom May on: 120 kg.\n"


@pytest.fixture
def session(tmp_path: Path) -> ToolSession:
    put(tmp_path, {"docs/a.md": STORY, "data/general_parameters.csv": DATA, "src/plan.py": PROGRAM})
    return ToolSession(tmp_path, ProgramRunner(None), ("src/*", "data/*"), (*TOOLS, SET_CELL, WRITE_PARAMETERS))


def use(session: ToolSession, tool: str, **arguments: object) -> str:
    return session.call_tool(ToolCall("1", tool, arguments))


def figures(session: ToolSession) -> dict[str, list[str]]:
    lines = (session.folder / "data/general_parameters.csv").read_text().splitlines()[1:]
    return {line.split(",")[0]: line.split(",")[1:] for line in lines}


@pytest.mark.parametrize(
    ("value", "is_stated"), [("4", True), ("5", False), ("12", True), ("-4", True), ("100", False)]
)
def test_figures_in_words_are_a_source(session: ToolSession, value: str, is_stated: bool) -> None:
    use(session, "write_parameters", name="carts", value=value, source="[docs/a.md:2]")
    assert ("carts" in figures(session)) is is_stated


def test_a_changed_figure_needs_a_line_that_states_it(session: ToolSession) -> None:
    use(session, "write_parameters", name="milk", value="100", unit="kg", meaning="in store", source="[docs/a.md:1]")
    use(session, "set_cell", cell="data/general_parameters.csv[milk, Value]", value="120")
    assert figures(session)["milk"][0] == "100"
    use(session, "write_parameters", name="milk", value="120", source="[docs/a.md:2]")
    assert figures(session)["milk"][0] == "100"
    use(session, "write_parameters", name="milk", value="120", source="[docs/a.md:3]")
    assert figures(session)["milk"] == ["120", "kg", "[docs/a.md:3]"]
    # A figure without a source, such as one of the team, is set as before.
    use(session, "set_cell", cell="data/general_parameters.csv[flour, Value]", value="77")
    assert figures(session)["flour"][0] == "77"


@pytest.mark.parametrize("more", ["", ",Unit", ",Unit,Context_Description,Owner", ",Unit,Context_Description"])
def test_the_table_of_figures_keeps_its_columns(session: ToolSession, more: str) -> None:
    """A new figure has as many cells as the header, and can be changed and read whatever columns are there."""
    path = session.folder / "data/general_parameters.csv"
    path.write_text(f"Parameter_Name,Value{more}\nflour,90{',' * more.count(',')}\n")
    use(session, "write_parameters", name="milk", value="100", unit="kg", meaning="in store", source="[docs/a.md:1]")
    use(session, "write_parameters", name="milk", value="120", unit="kg", source="[docs/a.md:3]")
    use(session, "set_cell", cell="data/general_parameters.csv[flour, Value]", value="77")
    rows = {row["Parameter_Name"]: row for row in read_row_dicts(path)}
    assert (rows["milk"]["Value"], rows["flour"]["Value"]) == ("120", "77")
    assert rows["milk"].get("Unit", "kg") == "kg"
    assert rows["milk"].get("Context_Description", "[docs/a.md:3]") == "[docs/a.md:3]"


@pytest.mark.parametrize("header", ["parameter_name,value,unit", "Parameter_Name, Value ,UNIT"])
def test_titles_of_figures_may_have_any_case(session: ToolSession, header: str) -> None:
    path = session.folder / "data/general_parameters.csv"
    path.write_text(f"{header}\nmilk,100,l\n")
    use(session, "write_parameters", name="milk", value="120", unit="kg", source="[docs/a.md:3]")
    assert figures(session)["milk"] == ["120", "kg"]


def test_a_table_without_a_column_of_values_is_refused(session: ToolSession) -> None:
    path = session.folder / "data/general_parameters.csv"
    path.write_text("parameter_name,wert\nmilk,100\n")
    assert "Value" in use(session, "write_parameters", name="milk", value="120", source="[docs/a.md:3]")
    assert figures(session)["milk"] == ["100"]


@pytest.mark.parametrize("source", ["[docs/a.md:2]", "[docs/a.md:3]"])
def test_a_source_below_a_title_of_another_case_counts(session: ToolSession, source: str) -> None:
    path = session.folder / "data/general_parameters.csv"
    path.write_text("parameter_name,value,context_description\nmilk,100,in store [docs/a.md:1]\n")
    use(session, "set_cell", cell="data/general_parameters.csv[milk, value]", value="120")
    assert figures(session)["milk"][0] == "100"
    use(session, "write_parameters", name="milk", value="120", source=source)
    assert figures(session)["milk"][0] == ("120" if source == "[docs/a.md:3]" else "100")


def test_all_rows_of_a_table_are_shown_or_counted(session: ToolSession) -> None:
    rows = [f"t{number},{number}" for number in range(1, 301)]
    put(session.folder, {"data/t.csv": "\n".join(["name,amount", *rows[:14]]) + "\n"})
    shown = use(session, "show_table", path="data/t.csv")
    assert all(row in shown.splitlines() for row in rows[:14])
    put(session.folder, {"data/t.csv": "\n".join(["name;amount", *rows]).replace(",", ";") + "\n"})
    shown = use(session, "show_table", path="data/t.csv")
    assert ("t200,200" in shown, "t201,201" in shown, "100 more rows" in shown) == (True, False, True)


def test_databases_are_searched_and_shown_in_parts(session: ToolSession) -> None:
    base = sqlite3.connect(session.folder / "data/shop.db")
    base.execute("CREATE TABLE items (name TEXT, amount REAL)")
    base.executemany("INSERT INTO items VALUES (?, ?)", [(f"item{number}", number) for number in range(1, 301)])
    base.commit()
    base.close()
    assert "data/shop.db" in use(session, "search", text="item250")
    assert "data/shop.db" in use(session, "search", text="amount")
    part = use(session, "read_file", path="data/shop.db", lines="250-252").splitlines()
    assert ("item250,250" in part, "item252,252" in part, "item249,249" in part) == (True, True, False)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("id,amount\na,1\nb,\nc,\na,4\n", ("amount: 2 empty cells, in row 2, 3", "a")),
        ("id,amount\na,1\nb,2\n", ()),
        ("site,day\nn,1\nn,2\ns,1\ns,2\n", ()),
    ],
)
def test_empty_cells_and_repeated_identifiers_are_named(
    session: ToolSession, text: str, words: tuple[str, ...]
) -> None:
    put(session.folder, {"data/t.csv": text})
    notes = [line for line in use(session, "show_table", path="data/t.csv").splitlines() if line.startswith("note: ")]
    assert len(notes) == len(words)
    assert all(word in note for word, note in zip(words, notes, strict=True))


def test_a_query_can_change_cells(session: ToolSession) -> None:
    pytest.importorskip("pulp")
    before = (session.folder / "data/general_parameters.csv").read_text()
    with Sandbox(1) as box:
        session.runner, session.program = ProgramRunner(box), "src/plan.py"
        answer = use(session, "query", line="data/general_parameters.csv[flour, Value] = 50")
        # By hand: 4 EUR for each of 50 kg.
        assert "objective 200" in answer
        assert "objective 400" in answer.splitlines()[-1]
        assert use(session, "query", line="data/none.csv[flour, Value] = 50").startswith("query: ")
    assert (session.folder / "data/general_parameters.csv").read_text() == before


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("Flour is limited to 100 kg [docs/a.md:1].", True),
        ("Flour is limited to 110 kg [docs/a.md:1].", False),
        ("In week 12, flour is limited to 100 kg [docs/a.md:1].", True),
        ("It was 110 before. Flour is limited [docs/a.md:1].", True),
        ("Four carts [docs/a.md:2]; 120 kg [docs/a.md:3].", True),
        ("Four carts [docs/a.md:2]; 100 kg [docs/a.md:3].", False),
        ("- 110 kg of milk\n- flour [docs/a.md:1]", True),
        ('It is 110 [docs/a.md:1 "Flour"].', True),
    ],
)
def test_a_cited_line_states_a_figure_of_its_sentence(session: ToolSession, text: str, holds: bool) -> None:
    state = FolderState(".", "", session.folder, read_settings(session.folder, NO_OPTIONS))
    assert check_text(state, text).ok is holds
