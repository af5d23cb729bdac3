"""Solution files of all dialects: each line beside its meaning, and beside lines that mean nothing."""

import pytest

from oragent._base.errors import ModellingError
from oragent.modelling.data.solution import SolveStatus
from oragent.modelling.files.sol_files import read_sol, write_sol

OPTIMAL, NONE, FREE, OPEN = SolveStatus.OPTIMAL, SolveStatus.INFEASIBLE, SolveStatus.UNBOUNDED, SolveStatus.UNKNOWN
HIGHS = "Model status\n{}\n\n# Primal solution values\nFeasible\nObjective 7\n# Columns 2\nx 1\ny 2\n# Rows 1\nc 3\n\n"
HIGHS += "# Dual solution values\nFeasible\n# Columns 2\nx 8\ny 9\n# Rows 1\nc 3\n"
CPLEX = (
    '<?xml version = "1.0"?>\n<CPLEXSolution version="1.2">\n <header\n   objectiveValue="7"\n   {}/>\n <variables>\n'
    '  <variable name="x" index="0" value="1"/>\n  <variable name="a &lt; b" index="1" value="-2.5"/>\n'
    " </variables>\n</CPLEXSolution>\n"
)
XY = {"x": 1.0, "y": 2.0}
# Text of a file, its values, objective and status, and whether variables without a line are 0.
FILES = [
    ("x 1\ny 2\n", XY, None, OPEN, False),
    ("\n# a comment\nx\t1\n  y   +2.0e0  \n\n", XY, None, OPEN, False),
    ("# Objective value = 7\nx 1\ny 2\n", XY, 7, OPEN, False),
    ("=obj= 7\nx 1\ny 2\n", XY, 7, OPEN, False),
    ("=obj= -7.5e1\n=infeas= 0\nx 1\ny 2\n", XY, -75, OPEN, False),
    ("x -inf\ny Infinity\n", {"x": -float("inf"), "y": float("inf")}, None, OPEN, False),
    ("a name 1\n", {"a name": 1.0}, None, OPEN, False),
    ("solution status: optimal solution found\nobjective value:  7\nx 1 \t(obj:1)\ny 2 \t(obj:0)\n", XY, 7, OPTIMAL, True),
    ("solution status: infeasible\nno solution available\n", {}, None, NONE, True),
    ("solution status: unbounded\n", {}, None, FREE, True),
    ("solution status: infeasible or unbounded\n", {}, None, OPEN, True),
    ("solution status: time limit reached\nobjective value: 0\n", {}, 0, OPEN, True),
    ("Optimal - objective value 7\n 0 x 1 0\n** 1 y 2 3\n", XY, 7, OPTIMAL, True),
    ("Stopped on time - objective value 7\n 0 x 1 0\n 1 y 2 3\n", XY, 7, OPEN, True),
    ("Infeasible - objective value 7\n", {}, 7, NONE, True),
    ("Unbounded\n", {}, None, FREE, True),
    (HIGHS.format("Optimal"), XY, 7, OPTIMAL, False),
    (HIGHS.format("Infeasible"), XY, 7, NONE, False),
    (HIGHS.format("Time limit reached"), XY, 7, OPEN, False),
    (CPLEX.format('solutionStatusString="integer optimal solution"'), {"x": 1.0, "a < b": -2.5}, None, OPTIMAL, False),
    (CPLEX.format('solutionStatusString="infeasible"'), {"x": 1.0, "a < b": -2.5}, None, NONE, False),
    (CPLEX.format("").split("\n", 1)[1], {"x": 1.0, "a < b": -2.5}, None, OPEN, False),
    ('# oragent variable x1 "a b"\nx1 1\ny 2\n', {"a b": 1.0, "y": 2.0}, None, OPEN, False),
]  # fmt: skip


@pytest.mark.parametrize(("text", "values", "objective", "status", "is_sparse"), FILES)
def test_files(text: str, values: dict, objective: float | None, status: SolveStatus, is_sparse: bool) -> None:
    solution = read_sol(text)
    assert (solution.values, solution.objective) == (values, objective)
    assert (solution.status, solution.is_sparse) == (status, is_sparse)


# A file, and changes after which it is damaged.
WRONG = [
    ("x 1\ny 2\n", [
        ("x 1\ny 2\n", ""), ("x 1", "x"), ("x 1", "x one"), ("x 1", "1"), ("y 2", "x 2"), ("y 2", "y 2\nInfeasible"),
        ("x 1", '# oragent variable x "\\q"\nx 1'),
    ]),
    ("Optimal - objective value 7\n 0 x 1 0\n 1 y 2 3\n", [(" 0 x 1 0", "x 1"), (" 0 x 1 0", " 0 x 1"), ("1 y", "1 x")]),
    (HIGHS.format("Optimal"), [
        ("# Columns 2", "# Columns 12"), ("# Columns 2", "# Columns two"), ("y 2", "y two"), ("y 2\n# Rows 1\nc 3\n", "y"),
    ]),
    (CPLEX.format(""), [
        (' name="x"', ""), (' value="1"', ""), ('value="1"', 'value="one"'), ("a &lt; b", "x"), ("</CPLEXSolution>", ""),
        ('value="-2.5"/>', 'value="-2.5"'),
    ]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "before", "after"), [(text, *change) for text, changes in WRONG for change in changes]
)
def test_damaged_files_are_refused(text: str, before: str, after: str) -> None:
    assert read_sol(text).values
    assert before in text
    with pytest.raises(ModellingError) as refused:
        read_sol(text.replace(before, after))
    assert "\n" not in str(refused.value)


def test_a_written_file_has_all_digits_and_names() -> None:
    values = {"x": 1 / 3, "a b": -2.0, "größe": 1e-300}
    text = write_sol(values, 1 / 7, {"a b": "x1"})
    assert text.splitlines()[1] == "=obj= 0.1428571429"
    assert read_sol(text).values == values
    assert [line.split()[0] for line in text.splitlines()[2:]] == ["x", "x1", "größe"]
    assert read_sol(write_sol(values, None, {})).objective is None
