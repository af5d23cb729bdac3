"""Citations are looked up in the file, row and column that they name; what cannot be looked up is reported."""

import io
import json
import sqlite3

import pytest

from oragent._base.errors import WorkspaceError
from oragent._base.terminal import Terminal
from oragent.workspace.citations import (
    MAX_CITATIONS,
    CitedCell,
    CitedKey,
    CitedLine,
    ResolvedCitation,
    UnclearCitation,
    check_citations,
    check_figures,
    find_citations,
    read_citation_list,
)
from oragent.workspace.model_commands import VerbCommands
from oragent.workspace.reading import list_files
from oragent.workspace.settings import NO_OPTIONS
from tests.workspace import teams
from tests.workspace.release import put

TABLE = "region,August [t],September [t],price (EUR)\nNord,25,28,3.5\nWest,31,1200,4\nWest,9,8,4\nOst,7,,2\n"
TRUE = (
    "[data/demand.csv, row Nord, column September [t] = 28]",
    "[data/demand.csv, row Nord, column September [t] = 28 t]",
    "[data/demand.csv, row Nord, column September = 28.0]",
    "[data/demand.csv, row Ost, column price = 2]",
    "[data/demand.csv, row West, 31, column September [t] = 1,200]",
    '[docs/rules.md:2 "at most 40 t"]',
    "[docs/rules.md:1]",
    '[docs/last.md:2 "two"]',
    "[data/demand.csv, row Nord, column September [t] = 28.000001]",
    "[record.json, rows.cap[Nord].slack = 2.5]",
    "[record.json, list.1 = 4]",
    "[shop.db, sheet items, row rope, column weight = 30]",
    "[data/demand.csv, row Nord, column region = nord]",
    "[record.json, name = x2]",
    "[record.json, note = 40]",
    "[record.json, empty =  ]",
)
FALSE = (
    "[data/demand.csv, row Nord, column September [t] = 31]",
    "[data/demand.csv, row Nord, column September [t] = 28 kg]",
    "[data/demand.csv, row Nord, column September [t] = 2]",
    "[data/demand.csv, row Nord, column October [t] = 28]",
    "[data/demand.csv, row Sued, column September [t] = 28]",
    "[data/demand.csv, row West, column September [t] = 8]",
    "[data/demand.csv, row Ost, column September [t] = 0]",
    "[data/demand.csv, sheet Two, row Nord, column August [t] = 25]",
    "[data/other.csv, row Nord, column August [t] = 25]",
    "[../data/demand.csv, row Nord, column August [t] = 25]",
    '[docs/rules.md:2 "at most 50 t"]',
    '[docs/rules.md:1 "at most 40 t"]',
    "[docs/rules.md:9]",
    "[docs/rules.md:0]",
    "[docs/last.md:3]",
    "[data/demand.csv, row Nord, column September [t] = 28.001]",
    "[data/demand.csv, row Nord, column September [t] = many]",
    "[data/demand.csv, row Nord, column region = 5]",
    "[record.json, name = 2]",
    "[record.json, note = 50]",
    "[record.json, empty = 0]",
    "[record.json, list.2 = 4]",
    "[record.json, list.x = 4]",
    "[record.json, list.1.x = 4]",
    "[record.json, rows.cap[Nord].slack = 3]",
    "[record.json, rows.cap[West].slack = 2.5]",
    "[data/demand.csv, Nord, September]",
    "data/demand.csv, row Nord, column September [t] = 28",
    "(row Nord, column September [t] = 31)",
    "docs/rules.md:2",
    "docs/rules.md, line 2, says at most 50 t",
)


@pytest.fixture
def folder(tmp_path):
    record = {"rows": {"cap[Nord]": {"slack": 2.5}}, "list": [3, 4], "name": "x2", "note": "at most 40 t", "empty": ""}
    put(tmp_path, {"data/demand.csv": TABLE, "docs/rules.md": "# Rules\nShip at most 40 t.\n", "docs/last.md": "One\nTwo",
                   "record.json": json.dumps(record)})  # fmt: skip
    base = sqlite3.connect(tmp_path / "shop.db")
    base.execute("CREATE TABLE items (name TEXT, weight INTEGER)")
    base.execute("INSERT INTO items VALUES ('rope', 30), ('tent', 10)")
    base.execute("CREATE TABLE limits (name TEXT, value REAL)")
    base.execute("INSERT INTO limits VALUES ('room', 50)")
    base.commit()
    base.close()
    return tmp_path


@pytest.mark.parametrize("text", TRUE)
def test_a_true_citation_holds(folder, text):
    assert len(find_citations(f"It is so {text}.")) == 1
    assert check_citations(f"It is so {text}.", list_files(folder)) == ()


@pytest.mark.parametrize("text", FALSE)
def test_a_false_citation_is_reported(folder, text):
    assert len(check_citations(f"It is so: {text}.", list_files(folder))) == 1


def test_plain_text_and_links_are_no_citations():
    assert find_citations("See [the rules](docs/rules.md), x[1], [note] and ratio 3:4. Plan A ships 28 t.") == ()


def test_unclear_citations_follow_the_others() -> None:
    cited = find_citations('a.md:2 [docs/a.md:3] and b.md:4 [docs/b.md:5 "x"] c.md:6')
    assert [str(citation) for citation in cited] == ["[docs/a.md:3]", '[docs/b.md:5 "x"]', "a.md:2", "b.md:4", "c.md:6"]
    assert all(isinstance(citation, UnclearCitation) for citation in cited[2:])


def test_a_line_that_states_no_figure_is_reported_with_the_smallest_ones() -> None:
    text = "It is 64 or 33, 2, 41, 5, 39 here [a.md:1]."
    (citation,) = find_citations(text)
    resolved = ResolvedCitation(citation, "At most 40 t.", "")
    assert check_figures(resolved, text).reason.endswith(" 2, 5, 33, 39, 41")
    assert check_figures(resolved, text.replace("64", "40")) == resolved
    assert check_figures(resolved, "It holds [a.md:1]. It is 39 [a.md:1].").reason.endswith(" 39")
    # The relative difference of two equal numbers is at most a millionth.
    assert not check_figures(resolved, "It is 40.00003 [a.md:1].").reason
    assert check_figures(resolved, "It is 40.0003 [a.md:1].").reason


def test_the_verb_gives_file_revision_row_column_and_value(folder, tmp_path_factory):
    teams.begin(folder)
    put(folder, {"data/demand.csv": TABLE.replace("28", "31")})
    text = tmp_path_factory.mktemp("text") / "answer.md"
    text.write_text("Nord needs it [data/demand.csv, row Nord, column September [t] = 31].\n")
    listed = text.with_name("citations.json")
    listed.write_text(json.dumps([
        {"path": "data/demand.csv", "row": "Nord", "column": "September [t]", "value": 31},
        {"path": "docs/rules.md", "line": 2, "quote": "40 t"}, {"file": "docs/rules.md"},
    ]))  # fmt: skip
    results = []
    for path, revision in ((text, "."), (text, "HEAD"), (listed, ".")):
        out = io.StringIO()
        code = VerbCommands(folder, Terminal(file=out), NO_OPTIONS, as_json=True).cite(path, revision)
        result = json.loads(out.getvalue())
        results.append((code, result["citations"], result["revision"]["commit"]))
    (now, (cited,), _), (before, (earlier,), commit), (mixed, entries, _) = results
    assert (now, before, mixed) == (0, 1, 1)
    assert (cited["row"], cited["column"], cited["value"]) == ("Nord", "September [t]", "31")
    assert (earlier["value"], len(commit)) == ("28", 40)
    assert [entry["holds"] for entry in entries] == [True, True, False]


@pytest.mark.parametrize(
    ("entry", "citation"),
    [
        ({"path": "a.md", "line": 3, "quote": "x"}, CitedLine("a.md", 3, "x")),
        ({"path": "a.md", "line": 3}, CitedLine("a.md", 3, "")),
        (dict.fromkeys(("path", "quote", "row", "column", "value", "table", "keys"), "x") | {"line": 3}, CitedLine("x", 3, "x")),
        ({"path": "a.csv", "row": "r", "column": "c", "value": 5}, CitedCell("a.csv", "r", "c", "5", "")),
        ({"path": "a.csv", "row": "r", "column": "c", "value": 5, "table": "t"}, CitedCell("a.csv", "r", "c", "5", "t")),
        ({"path": "a.json", "keys": ["k", 1], "value": "v"}, CitedKey("a.json", ("k", "1"), "v")),
        ({"path": "a.json", "keys": ["k"]}, None), ({"path": "a.csv", "row": "r", "value": 5}, None), ({"path": 5, "line": 3}, None),
        ({"path": "a.md", "line": "3"}, None), ({"path": "a.md", "line": 3, "more": 1}, None), ("a.md:3", None), ({"line": 3}, None),
    ],
)  # fmt: skip
def test_citations_of_a_list_are_read_by_their_fields(entry: object, citation: object) -> None:
    (read,) = read_citation_list([entry])
    assert isinstance(read, UnclearCitation) if citation is None else read == citation
    if citation is None:
        # The text is kept as it was written, with its letters.
        assert read_citation_list([{"path": 5, "ü": "ß"}])[0] == UnclearCitation('{"path": 5, "ü": "ß"}')
        assert read_citation_list(["x" * 400]) == (UnclearCitation('"' + "x" * 299),)


@pytest.mark.parametrize(
    ("citation", "read"),
    [
        (CitedLine("docs/a.md", 3), None), (CitedLine("docs/a.md", 3, "at most 40 t"), None), (CitedLine("docs/a.md", 3, "q" * 120), None),
        # A quote is on one line, has no brackets and double quotes, and at most 120 characters.
        (CitedLine("docs/a.md", 3, "q" * 121), CitedLine("docs/a.md", 3, "q" * 120)), (CitedLine("docs/a.md", 3, 'a "b"\n [c]'), CitedLine("docs/a.md", 3, "a 'b' (c)")),
        (CitedCell("data/a.csv", "Nord", "price (EUR)", "4"), None), (CitedCell("data/a.xlsx", "Nord", "price", "4", "Two"), None),
        (CitedKey("a.json", ("rows", "cap[1]", "slack"), "2.5"), None), (CitedKey("a.json", ("v1.2", "x"), "2"), None),
    ],
)  # fmt: skip
def test_a_citation_that_is_written_is_read_again(citation: object, read: object) -> None:
    assert find_citations(f"It is so {citation}.") == (read or citation,)


def test_a_list_of_citations_is_limited() -> None:
    entry = {"path": "a.md", "line": 3}
    assert len(read_citation_list([entry] * MAX_CITATIONS)) == MAX_CITATIONS
    for value in ([entry] * (MAX_CITATIONS + 1), entry, "text"):
        with pytest.raises(WorkspaceError):
            read_citation_list(value)
