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
