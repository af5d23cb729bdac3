"""Tables are read as they stand; what is wrong with them is told, never mended."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.errors import WorkspaceError
from oragent.workspace import tables
from oragent.workspace.tables import CsvTable
from oragent_benchmarks.workspace.tables import _pass_interval

CELLS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=8)


@st.composite
def grids(draw: st.DrawFn) -> CsvTable:
    width = draw(st.integers(1, 4))
    row = st.tuples(*[CELLS] * width).filter(lambda cells: any(cell.strip() for cell in cells))
    names = st.tuples(*[CELLS] * width).filter(lambda cells: all(cell.strip() for cell in cells))
    return CsvTable(draw(names), tuple(draw(st.lists(row, max_size=5))))


@given(grids())
def test_what_is_written_is_read_again(table: CsvTable) -> None:
    assert tables.read_table(tables.write_table(table)).table == table


@pytest.mark.parametrize(
    ("text", "flaw"),
    [
        ("", "is empty"),
        ("\n \n", "is empty"),
        ("item,cost\n", "has a header and no row"),
        ("item,item\na,1\n", "names column 'item' twice"),
        ("b,a,b,a\n1,2,3,4\n", "names column 'a' twice"),
        ("item,cost\na,1\nb,2,3\nc\n", "line 3 has 3 cells, the header 2, and 1 more lines are uneven"),
        ("item,cost\na,1\n\nitem,cost\nb,2\n", "line 4 repeats the header"),
        ("item,cost,mass\nname,EUR,kg\na,1,2\nb,3,4\n", "line 2 is a second header"),
        ("a,1.5\nb,2.5\n", "it has no header"),
        ("1,5\n2,7\n", "it has no header"),
    ],
)
def test_each_flaw_is_named_with_its_line(text: str, flaw: str) -> None:
    flaws = tables.read_table(text).flaws
    assert any(flaw in one for one in flaws), flaws


@pytest.mark.parametrize(
    "text",
    [
        "item,cost\na,1\nb,2\n",
        "site,1,2,3\nA,5,6,7\nB,8,9,1\n",  # periods as names
        "year,2024,2025\ndemand,5,6\n",
        "Parameter_Name,Value\npolicy,strict\nbudget,5\nlimit,6\n",
        "item,window\na,2:00\nb,5\n",
        'item,note\na,"one, two"\n',
    ],
)
def test_a_clean_table_has_no_flaw(text: str) -> None:
    assert tables.read_table(text).flaws == ()


@pytest.mark.parametrize(
    ("cell", "value"),
    [("1", 1), (" -2.5 ", -2.5), ("1,234,567.5", 1234567.5), (".5", 0.5), ("1e-3", 0.001), ("12,34", None),
     ("nan", None), ("1_000", None), ("", None), ("٣", None), ("5 %", None)],
)  # fmt: skip
def test_numbers_are_read_without_guessing(cell: str, value: float | None) -> None:
    assert tables.parse_number(cell) == value


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("mass [kg]", "kg"), ("mass (t/a) ", "t/a"), ("max_total_mass_kg", "kg"), ("mass kg", "kg"), ("total hours", "hours"), ("kg", None), ("name", None),
        ("mass_of_loaf", None), ("Mass KG", "KG"),
    ],
)  # fmt: skip
def test_the_unit_of_a_column_is_its_last_word_or_in_brackets(name: str, unit: str | None) -> None:
    assert tables.column_unit(name) == unit


@pytest.mark.parametrize(
    ("text", "line", "flaw", "more"),
    [
        ("a,b\nx,1\ny,2,3\n", 3, "3 cells", False), ("a,b\nx,1\ny\nz\nw\n", 3, "1 cells", True), ("a,b\nx,#REF!\n", 2, "error", False), ("a,b\nx,1\ny,2\na,b\n", 4, "header", False),
        # Years that follow each other are names, and other numbers are not.
        ("site,2024,2026\nA,1,2\n", None, "no header", False), ("site,2024,2025\nA,1,2\n", None, "", False), ("site,2024.5\nA,1\n", None, "no header", False),
        # A second header has a name above every column of numbers.
        ("shop,mass,cost\nname,kg,EUR\na,1,2\n", 2, "second header", False), ("shop,mass,cost\nname,kg,5\na,1,2\n", None, "", False), ("shop,mass\nname,kg\na,b\n", None, "", False),
        ("shop,mass\nname,kg\na,1\nb,z\n", None, "", False), ("shop,mass,cost\n-,kg,EUR\na,1,2\n", 2, "second header", False), ("a,b\nx,#1\ny,=\n", None, "", False),
        ("a,b\nx,1\ny,=A1\nz,#REF!\n", 3, "formula", False), ("shop,mass\nname,kg\na,\nb,3\n", 2, "second header", False), ("shop,mass\nname,5\na,\nb,3\n", None, "", False),
    ],
)  # fmt: skip
def test_a_flaw_is_found_in_its_line_only(text: str, line: int | None, flaw: str, more: bool) -> None:
    flaws = tables.read_table(text).flaws
    assert bool(flaws) is bool(flaw)
    found = " ".join(flaws)
    assert flaw in found
    assert line is None or f"line {line} " in found
    assert ("more lines" in found) is more


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Parameter_Name,Value\na,1\nb,2\n", []), ("Parameter_Name,Value\na,1\na,2\nb,\n", ["'b'", "'a' twice"]), ("Parameter_Name,Value\na,1\nb\nc,1,2\n", []),
        ("parameter_name, VALUE ,unit\na,1,kg\n", []), ("Parameter_Name,Amount\na,1\n", None), ("Value,Parameter_Name\n1,a\n", None), ("Parameter_Name\na\n", None),
    ],
)  # fmt: skip
def test_a_table_of_parameters_has_one_value_for_each_name(text: str, words: list[str] | None) -> None:
    table = tables.read_table(text).table
    assert table is not None
    if words is None:
        with pytest.raises(WorkspaceError):
            tables.parameter_flaws(table)
        return
    flaws = tables.parameter_flaws(table)
    assert len(flaws) == len(words)
    assert [word for word in words if word not in " ".join(flaws)] == []


def test_a_long_text_is_read_up_to_a_whole_line() -> None:
    text = "a,b\n" + "x,1\n" * 20
    reading = tables.read_table(text, 30)
    assert reading.table is not None
    assert (len(reading.table.rows), len(reading.notes)) == ((30 - 4) // 4, 1)
    exact = tables.read_table(text, len(text))
    assert (exact.table and len(exact.table.rows), exact.notes) == (20, ())


def test_a_cell_that_never_ends_is_said() -> None:
    with pytest.raises(WorkspaceError):
        tables.read_table('item\n"' + "x" * 200_000)


def test_pass_rates_have_exact_binomial_intervals() -> None:
    # Clopper and Pearson: 0 of 20 gives 1 - 0.025 ** (1 / 20) as the upper end.
    interval = _pass_interval([0.0] * 20)
    assert (interval.mean, interval.low) == (0.0, 0.0)
    assert interval.high == pytest.approx(100 * (1 - 0.025 ** (1 / 20)))
    half = _pass_interval([100.0] * 10 + [0.0] * 10)
    assert half.low < 30 < 50 == half.mean < 70 < half.high


@pytest.mark.parametrize(("limit", "rows"), [(100, 3), (16, 3), (15, 2), (12, 2), (11, 1), (8, 1)])
def test_a_long_table_is_read_up_to_its_last_whole_line(limit: int, rows: int) -> None:
    read = tables.read_table("a,b\n1,2\n3,4\n5,6\n", limit)
    assert read.table is not None
    assert read.table.rows == (("1", "2"), ("3", "4"), ("5", "6"))[:rows]
    assert bool(read.notes) is (rows < 3)
