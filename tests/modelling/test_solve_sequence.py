"""Programs that solve for one aim after the other: the joined model has the optima of enumeration in that order."""

import itertools
import json
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from oragent._base.errors import ModellingError
from oragent.modelling.capture import reading as reading_module
from oragent.modelling.capture import solve_sequence
from oragent.modelling.capture.assembling import assemble
from oragent.modelling.capture.reading import ReadModel, read_model, read_point
from oragent.modelling.capture.snapshot import DataTable, Snapshot, quadratic_term
from oragent.modelling.capture.solve_sequence import JoinedModel, join_solves
from oragent.modelling.operations import ModelSession
from tests.modelling.shops import close

INF = float("inf")
Terms = dict[int, float]


@dataclass(frozen=True)
class Solve:
    """A model of whole variables from 0 to 4 that a program solves."""

    cost: Terms
    maximize: bool = False
    constant: float = 0.0
    rows: tuple[tuple[Terms, float, float], ...] = ()
    names: tuple[str, ...] = ("x", "y", "z")
    low: dict[int, float] = field(default_factory=dict)
    high: dict[int, float] = field(default_factory=dict)
    objective: str = ""

    def snapshot(self) -> Snapshot:
        """What a recorder writes."""
        made = Snapshot("test 1", maximize=self.maximize, constant=self.constant, objective=self.objective)
        for at, name in enumerate(self.names):
            made.add_column(name, self.low.get(at, 0.0), self.high.get(at, 4.0), True, self.cost.get(at, 0.0))
        for number, (terms, low, high) in enumerate(self.rows):
            made.add_row(f"row{number}", terms, low, high)
        return made

    def read(self) -> ReadModel:
        """What is read from it."""
        return read_model(self.snapshot().to_text().encode())

    def worth(self, point: tuple) -> float:
        """Objective of a point."""
        return sum(value * point[at] for at, value in self.cost.items()) + self.constant

    @property
    def sign(self) -> int:
        """1 to minimise, -1 to maximise."""
        return -1 if self.maximize else 1

    def points(self) -> list[tuple]:
        """All feasible points."""
        spans = [range(int(self.low.get(at, 0)), int(self.high.get(at, 4)) + 1) for at in range(len(self.names))]
        return [
            point
            for point in itertools.product(*spans)
            if all(low <= sum(v * point[at] for at, v in terms.items()) <= high for terms, low, high in self.rows)
        ]

    def best(self, points: list[tuple]) -> float:
        """Best objective of some points."""
        return self.sign * min(self.sign * self.worth(point) for point in points)


def with_rows(solve: Solve, *rows: tuple[Terms, float, float]) -> Solve:
    return replace(solve, rows=(*solve.rows, *rows))


def join(*solves: Solve, claims: list[float | None] | None = None) -> JoinedModel:
    """Join solves whose claims are their optima."""
    claims = [solve.best(solve.points()) for solve in solves] if claims is None else claims
    return join_solves([solve.read() for solve in solves], claims)


def stages(joined: JoinedModel) -> list[float]:
    """Optima of the joined model in order."""
    result = ModelSession(assemble(joined.read).model).ask("solve")
    return [stage.optimum.value for stage in result.stages] or [result.objective.value]


def ranked(solves: list[Solve], points: list[tuple], allowances: list[float]) -> list[float]:
    """Optima of several aims in their order, by enumeration."""
    best = []
    for solve, allowance in zip(solves, [*allowances, 0.0], strict=True):
        best.append(solve.best(points))
        points = [point for point in points if solve.sign * (solve.worth(point) - best[-1]) <= allowance + 1e-9]
    return best


small = st.integers(-2, 3)


@st.composite
def aims(draw: st.DrawFn) -> list[Solve]:
    """Two aims under the same rows, one of which is a sum of the first aim's columns, so that they contradict."""
    costs = [{at: float(value) for at in range(3) if (value := draw(small))} for _ in range(2)]
    assume(all(costs))
    limit = ({0: 1.0, 1: 2.0, 2: 1.0}, -INF, float(draw(st.integers(2, 6))))
    need = ({0: 1.0, 1: 1.0, 2: 2.0}, float(draw(st.integers(1, 2))), INF)
    return [Solve(cost, draw(st.booleans()), float(draw(st.integers(-3, 3))), rows=(limit, need)) for cost in costs]


@settings(max_examples=40)
@given(aims(), st.sampled_from([1.0, -1.0, 2.0, -0.5]), st.sampled_from(["row", "equal", "both"]), st.booleans())
def test_a_row_that_holds_an_optimum_becomes_a_first_aim(drawn: list, factor: float, form: str, reorder: bool) -> None:
    first, second = drawn
    best = first.best(first.points())
    ends = [factor * (best - first.constant)] * 2
    if form != "equal":
        # Not better than the optimum is no limit.
        ends[0 if (factor > 0) != first.maximize else 1] = INF if (factor > 0) == first.maximize else -INF
    row = ({at: factor * value for at, value in first.cost.items()}, *ends)
    last = with_rows(second, row)
    assume(solve_sequence._scaled(first.cost) != solve_sequence._scaled(second.cost))
    if reorder:
        names = ("z", "x", "y")
        place = {"x": 1, "y": 2, "z": 0}
        moved = [
            (dict(sorted((place["xyz"[at]], v) for at, v in terms.items())), low, high)
            for terms, low, high in last.rows
        ]
        last = replace(last, names=names, rows=tuple(moved), cost={place["xyz"[at]]: v for at, v in last.cost.items()})
    joined = join(first, last)
    (held,) = joined.held
    assert (held.held_by, held.limit, held.name) == ("row2", pytest.approx(best), "aim 1")
    assert not np.isfinite([joined.read.row_low[-1], joined.read.row_high[-1]]).any()
    truth = ranked([first, second], first.points(), [0.0])
    assert stages(joined) == pytest.approx(truth)


@settings(max_examples=25)
@given(aims(), st.sampled_from([0.1, 0.3, 0.5]), st.booleans())
def test_a_limit_that_gives_up_a_share_leaves_that_amount_to_later_aims(drawn: list, share: float, other: bool) -> None:
    first, second = drawn
    best = first.best(first.points())
    slack = share * max(1.0, abs(best))
    limit = best + first.sign * slack - first.constant
    rows = [(first.cost, *((-INF, limit) if first.sign > 0 else (limit, INF)))]
    if other:
        rows.append(({0: 1.0, 2: -1.0}, -INF, 2.0))
    last = with_rows(second, *rows)
    assume(solve_sequence._scaled(first.cost) != solve_sequence._scaled(second.cost))
    assume(last.points())
    joined = join(first, last)
    (held,) = joined.held
    (goal,) = joined.read.features.goals
    assert (held.limit, goal.slack_amount, goal.priority) == (
        pytest.approx(limit + first.constant),
        pytest.approx(slack),
        1,
    )
    # With another new row the first aim may become worse, so that the limit stays, unless the row limits the aim itself.
    if not (other and first.cost.keys() == {0, 2} and first.cost[0] == -first.cost[2]):
        assert np.isfinite([joined.read.row_low[2], joined.read.row_high[2]]).any() == other
    points = last.points() if other else first.points()
    assert stages(joined) == pytest.approx(ranked([first, second], points, [slack]), abs=1e-6)


# One aim, the last model's rows, and whether the first aim is held.
COST = {0: 2.0, 1: 1.0}
ROOM = ({0: 1.0, 1: 1.0, 2: 1.0}, 2.0, 6.0)
FIRST = Solve(COST, rows=(ROOM,), constant=1.0)
# Its optimum is 1, of z = 2.
SECOND = Solve({2: 1.0}, rows=(ROOM,))
HELD: list[tuple[str, Solve, Solve, float | None, bool]] = [
    ("at the optimum", FIRST, with_rows(SECOND, (COST, -INF, 0.0)), 1.0, True),
    ("no claim", FIRST, with_rows(SECOND, (COST, -INF, 3.0)), None, True),
    ("without a limit", FIRST, SECOND, 1.0, False),
    ("from the wrong side", FIRST, with_rows(SECOND, (COST, 0.0, INF)), 1.0, False),
    ("half of the size", FIRST, with_rows(SECOND, (COST, -INF, 0.5)), 1.0, True),
    ("more than half", FIRST, with_rows(SECOND, (COST, -INF, 0.51)), 1.0, False),
    ("a little better", FIRST, with_rows(SECOND, (COST, -INF, -0.9e-4)), 1.0, True),
    ("too much better", FIRST, with_rows(SECOND, (COST, -INF, -1.1e-4)), 1.0, False),
    ("better than a large claim", FIRST, with_rows(SECOND, (COST, -INF, 99.995)), 101.0, True),
    ("another expression", FIRST, with_rows(SECOND, ({0: 2.0, 1: 1.5}, -INF, 0.0)), 1.0, False),
    ("another expression with small figures", FIRST, with_rows(SECOND, ({0: 2e-6, 1: 1.5e-6}, -INF, 0.0)), 1.0, False),
    ("in large figures", FIRST, with_rows(SECOND, ({0: 2e6 / 3, 1: 1e6 / 3 + 1e-5}, -INF, 0.0)), 1.0, True),
    ("other columns", FIRST, with_rows(SECOND, ({0: 2.0}, -INF, 0.0)), 1.0, False),
    ("an earlier row is gone", FIRST, replace(SECOND, rows=((COST, -INF, 0.0),)), 1.0, False),
    ("one of two earlier rows is gone", with_rows(FIRST, ({1: 1.0}, -INF, 3.0)), with_rows(SECOND, (COST, -INF, 0.0)),
     1.0, False),
    ("a multiple of the last aim", FIRST, with_rows(replace(FIRST, cost={0: 6.0, 1: 3.0}), (COST, -INF, 0.0)), 1.0,
     False),
    ("the last aim in other columns", FIRST,
     replace(with_rows(FIRST, ({1: 2.0, 2: 1.0}, -INF, 0.0)), names=("z", "x", "y"), cost={2: 1.0, 1: 2.0}), 1.0,
     False),
    ("an earlier row is wider", FIRST, replace(SECOND, rows=((ROOM[0], 2.0, 7.0), (COST, -INF, 0.0))), 1.0, False),
    ("a bound is wider", FIRST, with_rows(replace(SECOND, high={1: 5.0}), (COST, -INF, 0.0)), 1.0, False),
    ("a lower bound is wider", FIRST, with_rows(replace(SECOND, low={1: -1.0}), (COST, -INF, 0.0)), 1.0, False),
    ("a bound is tighter", FIRST, with_rows(replace(SECOND, high={1: 3.0}), (COST, -INF, 0.0)), 1.0, True),
    ("a lower bound is tighter", FIRST, with_rows(replace(SECOND, low={2: 1.0}), (COST, -INF, 0.0)), 1.0, True),
    ("the last aim itself", FIRST, with_rows(FIRST, (COST, -INF, 0.0)), 1.0, False),
    ("the opposite of the last aim", FIRST, with_rows(replace(FIRST, cost={0: -2.0, 1: -1.0}), (COST, -INF, 0.0)), 1.0,
     False),
    ("no aim", replace(FIRST, cost={}), with_rows(SECOND, (COST, -INF, 0.0)), 1.0, False),
    ("all columns fixed", FIRST, replace(SECOND, high={0: 0.0, 1: 0.0}), 1.0, True),
    ("all columns fixed elsewhere", FIRST, replace(SECOND, low={0: 2.0, 1: 1.0}, high={0: 2.0, 1: 1.0}), 1.0, False),
    ("one column fixed", FIRST, replace(SECOND, high={0: 0.0}), 1.0, False),
    ("a new column", FIRST, replace(with_rows(SECOND, (COST, -INF, 0.0)), names=("x", "y", "z", "w")), 1.0, True),
    ("a column less", replace(FIRST, names=("x", "y", "z", "w")), with_rows(SECOND, (COST, -INF, 0.0)), 1.0, False),
    ("a renamed column", FIRST, replace(with_rows(SECOND, (COST, -INF, 0.0)), names=("x", "y", "w")), 1.0, False),
]  # fmt: skip


@pytest.mark.parametrize(("first", "last", "claim", "is_held"), [row[1:] for row in HELD], ids=[row[0] for row in HELD])
def test_an_aim_counts_if_the_last_model_holds_it_near_its_value(
    first: Solve, last: Solve, claim: float | None, is_held: bool
) -> None:
    assert len(join(first, last, claims=[claim, None]).held) == is_held
    # The same from the other side.
    mirrored = [
        replace(
            solve,
            maximize=True,
            cost={at: -value for at, value in solve.cost.items()},
            constant=-solve.constant,
            rows=tuple(
                (terms, low, high) if len(terms) > 2 else ({at: -v for at, v in terms.items()}, -high, -low)
                for terms, low, high in solve.rows
            ),
        )
        for solve in (first, last)
    ]
    assert len(join(*mirrored, claims=[None if claim is None else -claim, None]).held) == is_held


def test_trials_between_solves_are_left_out() -> None:
    last = with_rows(SECOND, (COST, -INF, 0.0))
    other = replace(FIRST, rows=(({0: 1.0}, 1.0, INF),))
    for trial in (other, last):
        joined = join(trial, FIRST, last, claims=[9.0, 1.0, None])
        assert [held.limit for held in joined.held] == [1.0]


@pytest.mark.parametrize(
    ("limit", "slack"), [(100.0, 0.0), (100.01, 0.0), (100.0102, 0.0102), (99.992, 0.0), (120.0, 20.0)]
)
def test_a_difference_below_the_tolerance_of_solvers_gives_up_nothing(limit: float, slack: float) -> None:
    last = with_rows(SECOND, (COST, -INF, limit))
    (goal,) = join(FIRST, last, claims=[101.0, None]).read.features.goals
    assert goal.slack_amount == pytest.approx(slack)


@pytest.mark.parametrize("maximize", [False, True])
def test_a_bound_that_held_a_still_earlier_aim_may_be_gone(maximize: bool) -> None:
    # x, then y where x is best, then z where y is best alone.
    first = Solve({0: 1.0}, maximize, rows=(ROOM,))
    best = first.best(first.points())
    ends = {"low": {0: best}} if maximize else {"high": {0: best}}
    second = Solve({1: 1.0}, maximize, rows=(ROOM,), **ends)
    value = second.best(second.points())
    last = Solve({2: 1.0}, maximize, rows=(ROOM,), **({"low": {1: value}} if maximize else {"high": {1: value}}))
    assert [(held.held_by, held.limit) for held in join(first, second, last).held] == [("y", value)]
    # A bound of another column must not be gone.
    third = replace(first, cost={0: 1.0, 2: 0.5})
    assert not join(third, second, last, claims=[best, value, None]).held


# The second equation is about other columns.
DEFINED = Solve(
    {3: 1.0},
    rows=(ROOM, ({0: 1.0, 4: -1.0}, 0.0, 0.0), ({3: 2.0, 0: -2.0, 1: -4.0}, 6.0, 6.0)),
    names=("x", "y", "z", "t", "u"),
    high={3: 15.0},
)


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("hold", ["bound", "row", "terms", "scaled"])
def test_an_aim_that_is_a_column_is_held_by_its_bound_or_by_its_definition(hold: str, maximize: bool) -> None:
    # The column is x + 2 y + 3.
    first = replace(DEFINED, maximize=maximize)
    second = replace(DEFINED, cost={2: -1.0, 0: -2.0}, maximize=maximize)
    best = first.best(first.points())
    low, high = (best, INF) if maximize else (-INF, best)
    last = {
        "bound": replace(second, low={3: best} if maximize else {}, high={3: 15.0 if maximize else best}),
        "row": with_rows(second, ({3: 1.0}, low, high)),
        "terms": with_rows(second, ({0: 1.0, 1: 2.0}, low - 3, high - 3)),
        "scaled": with_rows(second, ({0: -2.0, 1: -4.0}, -2 * (high - 3), -2 * (low - 3))),
    }[hold]
    joined = join(first, last)
    (held,) = joined.held
    assert (held.held_by, held.limit) == ("t" if hold == "bound" else "row3", pytest.approx(best))
    assert (joined.read.low[3], joined.read.high[3]) == (0.0, 15.0)
    assert stages(joined) == pytest.approx(ranked([first, second], first.points(), [0.0]))


@pytest.mark.parametrize("maximize", [False, True])
def test_a_column_defined_by_the_aim_holds_it(maximize: bool) -> None:
    # The aim is x + 2 y + 3 itself, and the bound of the column that equals it is set.
    first = replace(DEFINED, cost={0: 1.0, 1: 2.0}, constant=3.0, maximize=maximize)
    second = replace(DEFINED, cost={2: -1.0, 0: -2.0}, maximize=maximize)
    best = first.best(first.points())
    last = replace(second, low={3: best} if maximize else {}, high={3: 15.0 if maximize else best})
    joined = join(first, last)
    assert [(held.held_by, held.limit) for held in joined.held] == [("t", pytest.approx(best))]
    assert stages(joined) == pytest.approx(ranked([first, second], first.points(), [0.0]))


@settings(max_examples=25)
@given(st.permutations([0, 1, 2]), st.lists(st.booleans(), min_size=3, max_size=3), st.booleans())
def test_three_aims_are_held_in_their_order(order: list[int], senses: list[bool], replaces: bool) -> None:
    costs: list[Terms] = [{0: 1.0, 1: -1.0}, {1: 2.0, 2: 1.0}, {0: 1.0, 2: -3.0}]
    room = ({0: 1.0, 1: 1.0, 2: 1.0}, 3.0, 7.0)
    solves: list[Solve] = []
    rows: list[tuple[Terms, float, float]] = []
    for number, at in enumerate(order):
        # The second aim's row may replace the first one's.
        kept = rows[-1:] if replaces and number == 2 else rows
        solve = Solve(costs[at], senses[at], float(at), (room, *kept), objective=f"goal {at}")
        solves.append(solve)
        best = solve.best(solve.points()) - solve.constant
        rows = [*rows, (solve.cost, *((best, INF) if solve.maximize else (-INF, best)))]
    joined = join(*solves)
    names = [f"goal {at}" for at in order[:2]]
    if replaces:
        # Without its row the first aim is a trial, and the second one was solved under it.
        assert [held.name for held in joined.held] == names[1:]
        return
    assert [held.name for held in joined.held] == names
    assert [goal.priority for goal in joined.read.features.goals] == [2, 1]
    plain = [replace(solve, rows=(room,)) for solve in solves]
    assert stages(joined) == pytest.approx(ranked(plain, plain[0].points(), [0.0, 0.0]))


@pytest.mark.parametrize(
    ("objectives", "names"),
    [
        (("profit", "waste"), ["profit", "waste"]),
        (("profit", "profit"), ["profit", "aim 2"]),
        (("", "obj"), ["aim 1", "aim 2"]),
        (("aim 2", ""), ["aim 2", "aim 2 (2)"]),
        (("OBJ", "of_"), ["aim 1", "of_"]),
    ],
)
def test_aims_have_their_own_names_or_numbers(objectives: tuple[str, str], names: list[str]) -> None:
    first = replace(FIRST, objective=objectives[0])
    held = with_rows(FIRST, (COST, -INF, 0.0))
    second = replace(held, cost={0: 1.0, 2: 1.0}, objective=objectives[1])
    last = with_rows(replace(held, cost={1: 1.0, 2: 3.0}), ({0: 1.0, 2: 1.0}, -INF, 2.0))
    assert [held.name for held in join(first, second, last, claims=[1.0, 3.0, None]).held] == names


def changed(solve: Solve, **parts: Any) -> ReadModel:
    return replace(solve.read(), **parts)


def test_solves_with_other_parts_are_trials_and_weighted_aims_stay() -> None:
    last = with_rows(SECOND, (COST, -INF, 0.0))

    def held(first: ReadModel, end: ReadModel) -> int:
        return len(join_solves([first, end], [1.0, None]).held)

    assert held(FIRST.read(), last.read()) == 1
    assert held(changed(FIRST, missing=("a part",)), last.read()) == 0
    assert held(changed(FIRST, is_schedule=True), last.read()) == 0
    assert held(changed(FIRST, is_schedule=True), changed(last, is_schedule=True)) == 1
    assert held(changed(FIRST, integer=np.array([True, True, True])), changed(last, integer=np.zeros(3, bool))) == 0
    assert held(changed(FIRST, integer=np.zeros(3, bool)), last.read()) == 1
    with_parts = last.snapshot()
    with_parts.add_feature("absolutes", name="size", output=0, input=2)
    parts = read_model(with_parts.to_text().encode())
    first_parts = FIRST.snapshot()
    first_parts.add_feature("absolutes", name="size", output=0, input=2)
    both = read_model(first_parts.to_text().encode())
    assert (held(FIRST.read(), parts), held(both, parts), held(both, last.read())) == (1, 1, 0)
    quadratic = FIRST.snapshot()
    quadratic.add_feature("quadratic", **quadratic_term(0, 1, 2.0))
    assert held(read_model(quadratic.to_text().encode()), last.read()) == 0
    for weight, count in ((1.0, 0), (0.0, 1)):
        goal = {"name": "more", "terms": {1: 1.0}, "sense": "minimize", "weight": weight}
        snapshots = [FIRST.snapshot(), last.snapshot()]
        for at, snapshot in enumerate(snapshots):
            snapshot.add_feature("goals", **goal)
            reads = [FIRST.read(), last.read()]
            reads[at] = read_model(snapshot.to_text().encode())
            assert held(*reads) == count


def test_models_of_too_many_coefficients_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    last = with_rows(SECOND, (COST, -INF, 0.0))
    for limit, count in ((8, 1), (7, 0)):
        monkeypatch.setattr(solve_sequence, "MAX_ENTRIES", limit)
        assert len(join(FIRST, last, claims=[1.0, None]).held) == count


def test_columns_of_equal_names_are_matched_by_position_only() -> None:
    first = replace(FIRST, names=("x", "x", "z"))
    last = with_rows(replace(SECOND, names=("x", "x", "z")), (COST, -INF, 0.0))
    assert len(join(first, last, claims=[1.0, None]).held) == 1
    assert not join(replace(first, names=("x", "z", "x")), last, claims=[1.0, None]).held
    assert not join(
        replace(first, names=("z", "x", "x")), replace(last, names=("x", "y", "z")), claims=[1.0, None]
    ).held


# Figures of a snapshot that are read, and others beside them that are not.
def text_of(**parts: Any) -> bytes:
    made = Snapshot("highspy 1.8", name="plan", constant=2.5)
    made.add_column("x", 0.0, INF, False, 1.5)
    made.add_column("y", -INF, 3.0, True)
    made.add_row("r", {1: 2.0, 0: -1.0}, -INF, 3.0)
    made.add_row("s", {0: 1.0}, 1.0, 1.0)
    made.tables = [DataTable("d", [["a"], ["b"]], [1.0, 2.0], ["s"], True)]
    made.links.add("cost", 0, 0, 1, 0.5)
    made.units = {"x": "t"}
    return json.dumps({**json.loads(made.to_text()), **parts}).encode()


def test_all_parts_of_a_snapshot_are_read() -> None:
    read = read_model(text_of(maximize=True, column_keys=[["x", ["a"], "names"]], sets={"s": ["a", "b"]}))
    assert (read.framework, read.name, read.maximize, read.constant) == ("highspy 1.8", "plan", True, 2.5)
    assert (read.columns, read.rows) == (["x", "y"], ["r", "s"])
    for got, expected in (
        (read.low, [0, -INF]),
        (read.high, [INF, 3]),
        (read.cost, [1.5, 0]),
        (read.integer, [False, True]),
        (read.row_low, [-INF, 1]),
        (read.row_high, [3, 1]),
        (read.starts, [0, 2, 3]),
        (read.indices, [1, 0, 0]),
        (read.values, [2, -1, 1]),
    ):
        assert got.tolist() == expected
    assert read.column_keys == [("x", ["a"], "names"), None]
    assert (read.sets, read.units, read.is_schedule) == ({"s": ("a", "b")}, {"x": "t"}, False)
    (table,) = read.tables
    assert (table.name, table.keys, table.values.tolist()) == ("d", [("a",), ("b",)], [1.0, 2.0])
    assert (table.sets, table.is_linked) == (("s",), True)
    links = read.links
    arrays = (links.places, links.tables, links.cells, links.factors)
    assert (links.targets, [array.tolist() for array in arrays]) == (["cost"], [[0], [0], [1], [0.5]])
    assert not read_model(text_of(maximize="yes")).maximize
    assert len(read_model(text_of(missing=["m"] * 25)).missing) == 20
    assert read_model(text_of(name="n" * 501)).name == "n" * 500
    assert read_model(text_of(name="a\ud800")).name == "a?"
    assert read_model(text_of(units={"x": "u" * 21})).units == {"x": "u" * 20}
    links = {"targets": ["cost"], "places": [0], "tables": [0], "cells": [2**53], "factors": [1.0]}
    assert read_model(text_of(links=links)).links.cells.tolist() == [2**53]
    labels = [str(at) for at in range(12)]
    table = {"name": "d", "keys": [labels], "values": [1], "sets": [], "is_linked": False}
    assert read_model(text_of(tables=[table])).tables[0].keys == [tuple(labels)]
    assert read_model(text_of(row_keys=[["r", labels, "loops"]])).row_keys[0] == ("r", labels, "loops")


def interval(**parts: Any) -> dict[str, Any]:
    """An interval in JSON form."""
    times = {"start": {"terms": {"0": 1.0}, "constant": 0.0}, "end": {"terms": {"0": 1.0}, "constant": 3.0}}
    return {"name": "cut", "lane": "saw", **times, "conditions": {"1": 1.0}, "is_exclusive": True, **parts}


def test_intervals_are_read_with_their_columns() -> None:
    (read,) = read_model(text_of(intervals=[interval(name="n" * 501)])).intervals
    assert (read.name, read.lane, read.conditions, read.is_exclusive) == ("n" * 500, "saw", {"1": 1.0}, True)
    assert (read.start.terms, read.end.terms, read.end.constant) == ({"0": 1.0}, {"0": 1.0}, 3.0)


@pytest.mark.parametrize(
    "parts",
    [
        {"starts": [0, 3, 2]},
        {"starts": [1, 2, 3]},
        {"starts": [0, 2, 2]},
        {"starts": [0, 2.5, 3]},
        {"indices": [1, 0, 2]},
        {"indices": [1, -1, 0]},
        {"constant": True},
        {"constant": "2"},
        {"column_keys": [None] * 3},
        {"row_keys": [["r", [str(at) for at in range(13)], "loops"]]},
        {"tables": [{"name": "d", "keys": [["a"]], "values": [1, 2], "sets": [], "is_linked": False}]},
        {"features": {"absolutes": [{"name": "a", "output": 0, "input": 2}]}},
        {"features": {"absolutes": [{"name": "a", "output": -1, "input": 0}]}},
        {"features": {"soft_rows": [{"row": 0, "above": 1.0}]}},
        {"features": {"absolutes": [{"name": "a" * 501, "output": 0, "input": 1}]}},
        {"features": {"goals": [{"name": "a" * 501, "terms": {"0": 1.0}, "sense": "minimize"}]}},
        {"features": {"absolutes": [{"name": "a"}]}},
        {"features": []},
        {"intervals": {}},
        {"intervals": [{"name": "cut"}]},
        {"intervals": [interval(conditions={"2": 1.0})]},
        {"low": {"a": 0.0, "b": 0.0}},
        {"low": [0.0]},
        {"links": {"targets": ["cost"], "places": [0], "tables": [0], "cells": [2**53 + 2], "factors": [1.0]}},
        {"links": {"targets": ["cost"], "places": [0], "tables": [0], "cells": [-(2**53) - 2], "factors": [1.0]}},
        {"low": [0.0, float("nan")]},
        {"cost": [0.0, INF]},
    ],
)  # fmt: skip
def test_parts_that_do_not_fit_each_other_are_refused(parts: dict[str, Any]) -> None:
    with pytest.raises(ModellingError):
        read_model(text_of(**parts))


def test_parts_up_to_their_limits_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    feature = {"absolutes": [{"name": "a" * 500, "output": 0, "input": 1}]}
    assert read_model(text_of(features=feature)).features.absolutes[0].input == 1
    for name, limit in (("MAX_MEMBERS", 2), ("MAX_ENTRIES", 3), ("MAX_BYTES", len(text_of()))):
        with monkeypatch.context() as patch:
            patch.setattr(reading_module, name, limit)
            assert read_model(text_of()).columns == ["x", "y"]
            patch.setattr(reading_module, name, limit - 1)
            with pytest.raises(ModellingError):
                read_model(text_of())
    with monkeypatch.context() as patch:
        # An interval has 6 fields, two times with 2 fields each and a term, and a condition.
        patch.setattr(reading_module, "MAX_PARTS", 1 + 6 + 2 * 3 + 1)
        assert len(read_model(text_of(intervals=[interval()])).intervals) == 1
        patch.setattr(reading_module, "MAX_PARTS", 1 + 6 + 2 * 3)
        with pytest.raises(ModellingError):
            read_model(text_of(intervals=[interval()]))
    # The list itself counts, its one part, and the three figures of that part.
    for limit, is_read in ((5, True), (4, False)):
        with monkeypatch.context() as patch:
            patch.setattr(reading_module, "MAX_PARTS", limit)
            if is_read:
                read_model(text_of(features=feature))
            else:
                with pytest.raises(ModellingError):
                    read_model(text_of(features=feature))
    with monkeypatch.context() as patch:
        patch.setattr(reading_module, "MAX_TABLES", 0)
        assert not read_model(text_of()).tables


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ({"status": "optimal", "objective": 3.5, "values": [1, 2.5]}, ("optimal", 3.5, [1.0, 2.5])),
        ({"status": "none", "objective": None, "values": None}, ("none", None, None)),
        ({"status": "short", "objective": 1, "values": [1]}, ("a point that cannot be read", None, None)),
        ({"status": "open", "objective": True, "values": None}, ("a point that cannot be read", None, None)),
        ({"status": 3, "objective": 1, "values": None}, ("a point that cannot be read", None, None)),
        ({"status": "x", "objective": 1}, ("a point that cannot be read", None, None)),
        ([], ("a point that cannot be read", None, None)),
    ],
)
def test_a_point_of_another_shape_has_no_values(content: Any, expected: tuple) -> None:
    point = read_point(json.dumps(content).encode(), 2)
    assert (point.status, point.objective, point.values if point.values is None else point.values.tolist()) == expected
    assert close(point.objective, expected[1])


@pytest.mark.parametrize("maximize", [False, True])
def test_the_tightest_of_several_limits_holds_an_aim(maximize: bool) -> None:
    sign = -1.0 if maximize else 1.0
    cost = {0: sign, 1: 2 * sign}
    first = Solve(cost, maximize, 10.0, rows=(({0: 1.0, 1: 1.0}, 3.0, INF),))
    rows = [(cost, *((-INF, 3.0 + extra) if sign > 0 else (-3.0 - extra, INF))) for extra in (1.0, 0.25, 0.5)]
    (held,) = join(first, with_rows(replace(first, cost={2: 1.0}), *rows)).held
    assert held.limit == 10 + sign * 3.25
