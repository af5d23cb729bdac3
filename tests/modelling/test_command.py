"""``solve_file`` prints what a person wants to know of a file, and foreign names harm nobody."""

import io
import itertools
import json
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from rich.table import Table

from oragent._base.errors import ModellingError
from oragent.modelling import command as command_module
from oragent.modelling.capture import program as program_module
from oragent.modelling.capture.program import CapturedModel, CapturedProgram, ClaimVerdict, ProgramOutcome
from oragent.modelling.capture.reading import ClaimedPoint
from oragent.modelling.command import SHOWN_ROWS, SolveFileRequest, _layout_tables, print_solution, solve_file
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective, Row, Variable
from oragent.modelling.data.model_values import VariableKind
from oragent.modelling.data.solution import SolveStatus
from oragent.modelling.files.model_files import read_point, write
from oragent.modelling.operations.outcomes import Outcome, SolveLimits, compare_outcomes, solution_outcome
from oragent.modelling.solving.model_solving import solve
from tests.modelling.models import pharmacy, steel


def printed(milp: IndexedModel, tmp_path: Path, form: str = "json", **options) -> str:
    write(milp, tmp_path / f"model.{form}")
    out = io.StringIO()
    solve_file(SolveFileRequest(tmp_path / f"model.{form}", **options), Console(file=out, width=120))
    return out.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize("form", ["json", "mps", "lp"])
def test_steel_explained(form: str, tmp_path: Path) -> None:
    text = printed(steel(), tmp_path, form, explain=True)
    for expected in (
        "optimal",
        "194828.5714",
        "(maximize)",
        "38.25892857 to 55.44642857",
        "+4640",
        "-3.142857143",
        "+1.8",
    ):
        assert expected in text
    binding = text[text.index("ranges ") :]
    for expected in ("4,640", "38.2589", "55.4464", "2,910.71", "6,348.21"):
        assert expected in binding


@pytest.mark.parametrize(
    ("point", "told"),
    [
        (
            {"bands": 6000, "coils": 743.75, "plate": 750},
            ["optimal", "change: 2.75", "plate 29 26.25"],
        ),
        (
            {"values": {"bands": 6000, "coils": 500, "plate": 750}, "status": "x"},
            ["change: 59", "coils 30 0"],
        ),
        (None, ["change: 0"]),
    ],
)
def test_what_would_make_a_point_optimal(point, told: list[str], tmp_path: Path) -> None:
    values = {**solve(steel()).values} if point is None else point
    (tmp_path / "point.json").write_text(json.dumps(values))
    text = printed(steel(), tmp_path, point=tmp_path / "point.json")
    for words in told:
        assert words in text


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("", "empty"), ("[1]", "object"), ("{", "line 1"), ('{"bands": "x"}', "'bands'"),
        ('{"bands": NaN}', "NaN"), ('{"x": 1}', "not a variable of the model"), ('{"bands": 1}', "it breaks bound"),
    ],
)  # fmt: skip
def test_a_file_that_holds_no_point_of_the_model_is_refused_in_one_line(
    content: str, told: str, tmp_path: Path
) -> None:
    (tmp_path / "point.json").write_text(content)
    with pytest.raises(ModellingError, match=f"point.json.*{told}"):
        printed(steel(), tmp_path, point=tmp_path / "point.json")


def test_without_explain_there_are_tables_alone(tmp_path: Path) -> None:
    text = printed(steel(), tmp_path)
    assert "holds from to" in text
    assert "ranges" not in text


def test_figures_of_one_basis_are_not_printed_as_those_of_the_model(tmp_path: Path) -> None:
    # The row and the bound both fix x, so every coefficient keeps its value, and neither of them has one price.
    fixed = IndexedModel.from_records(
        [Variable("x", 0, 4), Variable("y", 0, 9)],
        [Row("room", {"x": 1}, ">=", 4), Row("both", {"x": 1, "y": 1}, ">=", 6)],
        Objective({"x": 0.5, "y": 2}),
        "minimize",
    )
    lines = [line.split() for line in printed(fixed, tmp_path).splitlines()]
    assert [line[2:] for line in lines if line[:1] == ["x"]] == [["not", "unique", "0.5", "any"]]
    assert [line[5:] for line in lines if line[:1] == ["room"]] == [["not", "unique"]]
    assert [line[5:] for line in lines if line[:1] == ["both"]] == [["+2", "4", "to", "13"]]


def test_an_integer_model_shows_both_duals(tmp_path: Path) -> None:
    text = printed(pharmacy(), tmp_path)
    assert "735 units of digestive medicine (minimize)" in text
    assert "relaxed" in text
    assert "+16.66666667" in text


class TableRecorder(Console):
    """A console that keeps the columns of printed tables by their heads."""

    def __init__(self) -> None:
        super().__init__(file=io.StringIO(), width=200)
        self.columns: dict[str, list[str]] = {}

    def print(self, *objects, **options) -> None:
        for table in objects:
            if isinstance(table, Table):
                self.columns |= {str(column.header): list(map(str, column.cells)) for column in table.columns}


@pytest.mark.parametrize(
    ("kinds", "last"),
    [
        (("continuous", "continuous"), "sensitivity"),
        # The dual of the relaxation holds elsewhere than the one with the integers fixed.
        (("integer", "continuous"), "relaxation"),
    ],
)
def test_the_head_of_the_ranges_names_the_programme_of_the_dual_beside_them(kinds: tuple[str, str], last: str) -> None:
    model = IndexedModel.from_records(
        [Variable("x", 0, 4, VariableKind(kinds[0])), Variable("y", 0, 5, VariableKind(kinds[1]))],
        [Row("room", {"x": 2, "y": 1}, "<=", 6.5), Row("far", {"x": 1, "y": 1}, "<=", 20)],
        Objective({"x": 5, "y": 2}),
        "maximize",
    )
    solution, console = solve(model), TableRecorder()
    print_solution(model, solution, console)
    (head,) = [head for head in console.columns if head.startswith("holds from to")]
    dual = head.replace("holds from to", "dual")
    prices = getattr(solution, last)
    assert [float(text) for text in console.columns[dual]] == [prices.duals[row] for row in ("room", "far")]
    intervals = [tuple(map(float, text.split(" to "))) for text in console.columns[head]]
    ranges = [prices.rhs_ranges[row] for row in ("room", "far")]
    assert intervals == [(interval.low, interval.high) for interval in ranges]
    if solution.relaxation is not None:
        assert intervals != [(interval.low, interval.high) for interval in solution.sensitivity.rhs_ranges.values()]
        assert {"dual, integers fixed", "dual, relaxed"} < console.columns.keys()


def test_an_infeasible_model_has_no_tables(tmp_path: Path) -> None:
    text = printed(steel(hours=12), tmp_path, explain=True)
    assert "infeasible" in text
    assert "reduced cost" not in text
    assert "least total change: 1.25893" in text
    assert "rows.hours = 13.25892857" in text.replace("\n", " ")


def test_a_large_model_is_cut_and_says_so(tmp_path: Path) -> None:
    variables = [Variable(f"x{place}", 0, 5) for place in range(SHOWN_ROWS + 40)]
    rows = [Row(f"r{place}", {f"x{place}": 1}, "<=", 1) for place in range(SHOWN_ROWS + 7)]
    text = printed(IndexedModel.from_records(variables, rows, Objective({"x3": 1}), "maximize"), tmp_path, explain=True)
    assert "40 variables more" in text
    assert "7 rows more" in text


def test_names_with_markup_and_control_characters_are_shown_as_they_are(tmp_path: Path) -> None:
    name = "[red]\x1b[2J[/red]"
    milp = IndexedModel.from_records(
        [Variable(name, unit="[b]")],
        [Row(name, {name: 1}, "<=", 3)],
        Objective({name: 1}, unit="\x07"),
        "maximize",
        name,
    )
    text = printed(milp, tmp_path, explain=True)
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "[red]\\u001b[2J[/red]" in text


def test_a_limit_without_a_point_is_said(tmp_path: Path) -> None:
    many = [Variable(f"x{place}", 0, 1, "integer") for place in range(40)]
    row = Row("odd", {one.name: 2 * place + 2 for place, one in enumerate(many)}, "=", 801)
    text = printed(
        steel().with_records(variables=many, rows=[row], objective=Objective({"x1": 1})),
        tmp_path,
        limits=SolveLimits(seconds=1e-6),
    )
    assert "unknown" in text or "infeasible" in text


def test_a_file_without_a_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{}")
    with pytest.raises(ModellingError, match="has no 'objective'"):
        solve_file(SolveFileRequest(tmp_path / "a.json"), Console(file=io.StringIO()))


@pytest.mark.parametrize("width", [60, 80])
def test_tables_fit_and_break_no_figure(width: int, tmp_path: Path) -> None:
    names = (f"pills against pain {'of any kind ' * 3}", "Schlafmittel (über 18)")
    milp = pharmacy()
    figures = [*solve(milp).values.values(), 735.0]
    write(milp.rename(dict(zip(solve(milp).values, names, strict=True)), {}), tmp_path / "m.json")
    out = io.StringIO()
    solve_file(SolveFileRequest(tmp_path / "m.json"), Console(file=out, width=width))
    assert all(len(line) <= width for line in out.getvalue().splitlines())
    for text in ("Schlafmittel (über 18)", "+16.66666667", "relaxed", *(f"{value:g}" for value in figures)):
        assert text in out.getvalue()


def width_of(table: Table) -> int:
    out = io.StringIO()
    Console(file=out, width=1000).print(table)
    return max(map(len, out.getvalue().splitlines()))


@settings(max_examples=30)
@given(st.lists(st.integers(1, 30), min_size=2, max_size=9), st.integers(70, 120))
def test_a_table_has_as_many_columns_as_the_terminal_is_wide(sizes: list[int], width: int) -> None:
    heads = [f"h{at}" for at in range(len(sizes))]
    lines = [["x" * max(2, size) for size in sizes], ["y"] * len(sizes)]
    tables = _layout_tables(heads, lines, width)
    shown = [[str(column.header) for column in table.columns] for table in tables]
    assert [head for columns in shown for head in columns[1:]] == heads[1:]
    assert all(columns[0] == heads[0] for columns in shown)
    assert all(width_of(table) <= width for table in tables)
    for table, following in itertools.pairwise(shown):
        wanted = [*table, following[1]]
        places = [heads.index(head) for head in wanted]
        (wider,) = _layout_tables(wanted, [[line[at] for at in places] for line in lines], 1000)
        assert width_of(wider) > width


@pytest.mark.parametrize(("width", "first"), [(60, 28), (61, 28), (62, 29), (20, 8), (22, 9), (300, 100)])
def test_a_long_name_takes_half_of_the_width_and_continues_on_the_next_line(width: int, first: int) -> None:
    name = "".join(f"{at:02}" for at in range(50))
    (table,) = _layout_tables(["variable", "value"], [[name, "1"]], width)
    assert [column.width for column in table.columns] == [first, 5]
    assert [column.justify for column in table.columns] == ["left", "right"]
    assert (table.header_style, table.caption_justify, table.caption) == ("dim", "left", None)
    out = io.StringIO()
    Console(file=out, width=width).print(table)
    cells = [line[: first + 1].strip() for line in out.getvalue().splitlines()[3:]]
    assert "".join(cells) == name


def test_nonzero_variables_and_binding_rows_come_first_and_all_keep_their_order() -> None:
    names = [f"x{at}" for at in range(40)]
    rows = [Row(f"r{at}", {name: 1}, "<=", 1) for at, name in enumerate(names)]
    model = IndexedModel.from_records([Variable(name) for name in names], rows, Objective({"x3": 1}), "maximize")
    values = {name: float(at % 3 == 1) for at, name in enumerate(names)}
    slacks = {f"r{at}": (1.1e-6, 1e-6, 0.0)[at % 3] for at in range(40)}
    solution = replace(solve(model), values=values, slacks=slacks)
    console = TableRecorder()
    print_solution(model, solution, console)
    assert console.columns["variable"] == sorted(names, key=lambda name: values[name] == 0.0)
    assert console.columns["row"] == sorted(slacks, key=lambda row: slacks[row] > 1e-6)
    free = IndexedModel.from_records([Variable("x", 0, 1)], [], Objective({"x": 1}), "maximize")
    console = TableRecorder()
    print_solution(free, solve(free), console)
    assert "variable" in console.columns
    assert "row" not in console.columns


@pytest.mark.parametrize(("count", "more"), [(SHOWN_ROWS, ""), (SHOWN_ROWS + 1, "1 variables more")])
def test_the_last_table_says_how_many_lines_are_left_out(count: int, more: str) -> None:
    names = [f"name{'x' * 20}{at}" for at in range(count)]
    model = IndexedModel.from_records(
        [Variable(name, 0, 1) for name in names], [], Objective({names[0]: 1}), "maximize"
    )
    out = io.StringIO()
    print_solution(model, solve(model), Console(file=out, width=60))
    assert out.getvalue().count("value") == 1
    assert out.getvalue().count("coefficient") == 1
    assert ("more" in out.getvalue()) == bool(more)
    assert out.getvalue().rstrip().endswith(more)


def test_lines_of_the_head_are_not_split_and_its_names_are_bold() -> None:
    model = replace(pharmacy(), name="n" * 50)
    out = io.StringIO()
    solution = replace(
        solve(model), note="m" * 300, solver="s" * 90, linearised=("l" * 150, "k"), goals={"g" * 50: 3.0}
    )
    print_solution(model, solution, Console(file=out, width=60, force_terminal=True, color_system="standard"))
    text = out.getvalue()
    for part in ("n" * 50, "status"):
        assert f"\x1b[1m{part}" in text
    words = re.findall(r"([mslg])(\1{30,}…?)", re.sub(r"\x1b\[\d*m", "", text))
    assert {letter: 1 + len(rest) for letter, rest in words} == {"m": 200, "s": 90, "l": 100, "g": 40}
    assert "as rows" in text


def test_the_change_for_a_point_has_a_bold_head(tmp_path: Path) -> None:
    (tmp_path / "point.json").write_text(json.dumps(solve(steel()).values))
    write(steel(), tmp_path / "model.json")
    out = io.StringIO()
    console = Console(file=out, width=120, force_terminal=True, color_system="standard")
    solve_file(SolveFileRequest(tmp_path / "model.json", point=tmp_path / "point.json"), console)
    (line,) = [line for line in out.getvalue().splitlines() if "what would make" in line]
    assert line.startswith("\x1b[1;36m")


def test_a_program_is_solved_and_its_claim_is_said_on_standard_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    captured = CapturedModel("library 1", steel(), ClaimedPoint("optimal", None, None), ClaimVerdict.OPEN, "a reason")
    run = CapturedProgram(ProgramOutcome.ENDED, (captured,), 0, "", "", "")
    monkeypatch.setattr(program_module, "capture_program", lambda path, **options: run)
    solution = solve_file(SolveFileRequest(tmp_path / "plan.py"), Console(file=io.StringIO()))
    assert solution.objective == pytest.approx(solve(steel()).objective)
    error = capsys.readouterr().err
    assert "plan.py" in error
    assert "a reason" in error


def test_the_second_solve_has_the_limits_of_the_first_and_its_own_solver(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = []

    def solve_noted(model: IndexedModel, **options):
        given.append(options)
        return solve(model)

    monkeypatch.setattr(command_module, "solve", solve_noted)
    monkeypatch.setattr(command_module, "find_solver", lambda name: SimpleNamespace(version=str))
    limits = SolveLimits(seconds=50.0, gap=0.0, confirm="another")
    assert "confirmed" in printed(pharmacy(), tmp_path, limits=limits)
    assert [options["solver"] for options in given] == [limits.solver, "another"]
    assert [options["options"] for options in given] == [limits.options()] * 2
    # Prices are those of the first solve.
    assert given[1]["duals"] is False


def test_variables_have_their_units_coefficients_and_values_and_those_of_zero_come_last() -> None:
    variables = [
        Variable("none", 0, 4, unit="kg", meaning="left out"), Variable("some", 0, 5, unit="u" * 30, meaning="made"),
        Variable("free", -7, 5),
    ]  # fmt: skip
    row = Row("room", {"none": 1, "some": 2}, "<=", 6)
    model = IndexedModel.from_records(variables, [row], Objective({"none": 1, "some": 5, "free": -3}), "maximize")
    solution, console = solve(model), TableRecorder()
    print_solution(model, solution, console)
    order = ["some", "free", "none"]
    assert console.columns["variable"] == order
    assert [float(text) for text in console.columns["value"]] == [solution.values[name] for name in order] == [3, -7, 0]
    assert [float(text) for text in console.columns["coefficient"]] == [5, -3, 1]
    assert console.columns["unit"][1:] == ["", "kg"]
    assert console.columns["unit"][0].startswith("u" * 19)
    assert len(console.columns["unit"][0]) == 20
    ranges = {name: (interval.low, interval.high) for name, interval in solution.sensitivity.cost_ranges.items()}
    got = [tuple(map(float, text.split(" to "))) for text in console.columns["may be"]]
    assert got == [ranges[name] for name in order]
    assert np.isfinite(ranges["some"][0])


@pytest.mark.parametrize(
    ("gap", "bound", "is_shown"),
    [(0.25, 9.0, True), (1e-8, 9.0, True), (1e-10, 9.0, False), (0.0, 9.0, False), (0.25, None, False)],
)
def test_the_bound_is_printed_where_a_gap_remains(gap: float, bound: float | None, is_shown: bool) -> None:
    solution = replace(
        solve(pharmacy()), status=SolveStatus.FEASIBLE, gap=gap, bound=bound, limit="time", note="a note"
    )
    out = io.StringIO()
    print_solution(pharmacy(), solution, Console(file=out, width=150))
    head = {line[:10].strip(): line[10:].strip() for line in out.getvalue().splitlines()}
    assert ("bound" in head) is is_shown
    assert not is_shown or head["bound"].startswith("9, ")
    assert (head["status"], head["note"]) == ("feasible", "a note")
    assert head["ended by"].endswith("time")


@pytest.mark.parametrize("ending", ["csv", "json", "sol"])
def test_a_solution_is_written_for_others(ending: str, tmp_path: Path) -> None:
    printed(steel(), tmp_path, out=tmp_path / f"s.{ending}")
    text = (tmp_path / f"s.{ending}").read_text()
    if ending == "json":
        assert read_point(tmp_path / "s.json") == solve(steel()).values
        return
    lines = [line.replace(",", " ").split() for line in text.splitlines()]
    assert {line[0]: float(line[1]) for line in lines if line[0] in solve(steel()).values} == solve(steel()).values
    assert ending != "csv" or text.startswith("variable,value,unit\nbands,6000.0,tons\n")


def test_a_solution_that_cannot_be_written_is_refused_in_one_line(tmp_path: Path) -> None:
    for name, milp, told in (
        ("s.txt", steel(), "ends in .csv"), ("s.csv", steel(hours=12), "infeasible"), ("no/s.csv", steel(), "cannot write"),
    ):  # fmt: skip
        with pytest.raises(ModellingError, match=told):
            printed(milp, tmp_path, out=tmp_path / name)


@pytest.mark.parametrize(("line", "told"), [("c2: x + <= = 3 y", "line 5: .*expected a term")])
def test_a_broken_file_is_refused_with_its_line(line: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "m.lp").write_text(
        f"Maximize\n obj: x\nSubject To\n c1: 1 <= x + y <= 10\n {line}\nBounds\n x <= 5\nEnd\n"
    )
    with pytest.raises(ModellingError, match=told):
        solve_file(SolveFileRequest(tmp_path / "m.lp"), Console(file=io.StringIO()))


def test_a_second_solver_confirms_or_contradicts(tmp_path: Path) -> None:
    assert "same optimum" in printed(pharmacy(), tmp_path, limits=SolveLimits(confirm="highs"))
    milp = pharmacy()
    right = solve(milp)
    wrong = replace(right, objective=right.objective + 1)
    with pytest.raises(ModellingError, match="disagree"):
        compare_outcomes(solution_outcome(right), solution_outcome(wrong))
    with pytest.raises(ModellingError, match="disagree"):
        compare_outcomes(solution_outcome(right), Outcome(SolveStatus.INFEASIBLE))
