"""What HiGHS is given: options, starts, rows and quadratic terms; and what is done with doubtful answers."""

from types import SimpleNamespace
from typing import Any

import highspy
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.errors import ModellingError
from oragent.modelling.data.arrays import Arrays, Sparse
from oragent.modelling.data.features import ModelFeatures, QuadraticTerm, SemiContinuous
from oragent.modelling.data.model_values import Sense
from oragent.modelling.solving import highs
from oragent.modelling.solving.back_ends.protocol import Limit, SolverOptions, SolverStatus
from oragent.modelling.solving.highs import JUMP, as_highs, as_highs_model, load_arrays, quiet_engine, run_highs

INF = np.inf
STATUS = highspy.HighsModelStatus


def arrays(count: int = 2, **parts: Any) -> Arrays:
    """Whole variables from 0 to 3 whose sum is at most 2.5 for each."""
    fields = {
        "sense": Sense.MAXIMIZE, "cost": np.arange(1.0, count + 1), "constant": 7.0, "low": np.zeros(count),
        "high": np.full(count, 3.0), "integer": np.ones(count, dtype=bool), "matrix": Sparse.from_dense(np.ones((1, count))),
        "row_low": np.array([-INF]), "row_high": np.array([2.5 * count]),
    }  # fmt: skip
    return Arrays(**fields | parts)


class Spy:
    """A solver that records options, starts and runs, and may report other figures."""

    def __init__(self, nodes: int | None = None, point: int | None = None, status: Any = None) -> None:
        self.engine = quiet_engine()
        self.options: list[dict[str, object]] = [{}]
        self.starts: list[list[float]] = []
        self.clears = 0
        self.claimed = {"mip_node_count": nodes, "primal_solution_status": point}
        self.status = status

    def setOptionValue(self, name: str, value: object) -> Any:  # the name of HiGHS
        self.options[-1][name] = value
        return self.engine.setOptionValue(name, value)

    def setSolution(self, count: int, places: np.ndarray, values: np.ndarray) -> Any:  # the name of HiGHS
        assert places.tolist() == list(range(count))
        self.starts.append(list(values))
        return self.engine.setSolution(count, places, values)

    def run(self) -> Any:
        self.options.append({})
        return self.engine.run()

    def clearSolver(self) -> Any:  # the name of HiGHS
        self.clears += 1
        return self.engine.clearSolver()

    def getInfo(self) -> Any:  # the name of HiGHS
        info = self.engine.getInfo()
        names = (
            "mip_node_count",
            "primal_solution_status",
            "mip_dual_bound",
            "simplex_iteration_count",
            "ipm_iteration_count",
        )
        told = {name: getattr(info, name) for name in names}
        return SimpleNamespace(**told | {name: value for name, value in self.claimed.items() if value is not None})

    def getModelStatus(self) -> Any:  # the name of HiGHS
        return self.engine.getModelStatus() if self.status is None else self.status

    def __getattr__(self, name: str) -> Any:
        return getattr(self.engine, name)


def watch(monkeypatch: pytest.MonkeyPatch, spy: Spy) -> Spy:
    monkeypatch.setattr(highs, "quiet_engine", lambda: spy)
    return spy


@pytest.mark.parametrize(
    ("count", "nodes", "jump", "limit"),
    [
        (2, None, False, 1000), (2, 7, False, 7), (2, 5000, False, 1000), (100, None, False, 1000), (101, None, True, None),
        (101, 7, True, 7), (101, 5000, True, 5000),
    ],
)  # fmt: skip
def test_small_models_begin_without_the_jump_and_with_few_nodes(
    count: int, nodes: int | None, jump: bool, limit: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    spy = watch(monkeypatch, Spy())
    options = SolverOptions(seconds=40.0, gap=0.25, nodes=nodes, iterations=10**6, seed=3)
    assert run_highs(arrays(count), options).status is SolverStatus.OPTIMAL
    given_options = spy.options[0]
    assert given_options.pop("mip_max_nodes", None) == limit
    assert given_options == {
        JUMP: jump, "mip_rel_gap": 0.25, "mip_abs_gap": 0.0, "random_seed": 3, "time_limit": 40.0,
        **dict.fromkeys(("simplex_iteration_limit", "ipm_iteration_limit", "qp_iteration_limit"), 10**6),
    }  # fmt: skip
    assert spy.options[1:] == [{}]
    spy = watch(monkeypatch, Spy())
    run_highs(arrays(), SolverOptions())
    assert not {"time_limit", "simplex_iteration_limit", "threads"} & spy.options[0].keys()


@pytest.mark.parametrize(
    ("count", "done", "nodes", "again"),
    [
        (2, 999, None, None), (2, 1000, None, highspy.kHighsIInf), (2, 1000, 1500, 1500), (2, 1000, 0, 0), (101, 5000, None, None),
    ],
)  # fmt: skip
def test_a_small_model_that_needs_many_nodes_is_restarted_with_the_jump(
    count: int, done: int, nodes: int | None, again: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    spy = watch(monkeypatch, Spy(nodes=done))
    result = run_highs(arrays(count), SolverOptions(nodes=nodes))
    assert spy.options[1:] == ([{}] if again is None else [{JUMP: True, "mip_max_nodes": again}, {}])
    assert result.work["nodes"] == done


def test_a_point_that_the_solver_itself_doubts_is_computed_without_presolve(monkeypatch: pytest.MonkeyPatch) -> None:
    for spy, is_repeated in ((Spy(), False), (Spy(point=1), True), (Spy(status=STATUS.kSolveError), True)):
        result = run_highs(arrays(), SolverOptions()) if watch(monkeypatch, spy) else None
        assert spy.options[1:] == ([{"presolve": "off"}, {}] if is_repeated else [{}])
        assert (result.values is None) == (spy.claimed["primal_solution_status"] == 1)
    stopped = watch(monkeypatch, Spy(point=1, status=STATUS.kTimeLimit))
    result = run_highs(arrays(), SolverOptions())
    assert (stopped.options[1:], result.status, result.limit) == ([{}], SolverStatus.STOPPED, Limit.TIME)
    assert result.values is None
    watch(monkeypatch, Spy(status=STATUS.kInfeasible))
    assert run_highs(arrays(), SolverOptions()).values is None
    watch(monkeypatch, Spy(status=STATUS.kTimeLimit))
    assert run_highs(arrays(), SolverOptions()).values is not None


def test_a_start_is_given_and_a_worse_answer_is_computed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    spy = watch(monkeypatch, Spy())
    run_highs(arrays(), SolverOptions(), np.array([1.0, 2.0]))
    assert (spy.starts, spy.clears) == ([[1.0, 2.0]], 0)
    point = SimpleNamespace(col_value=[1.0, 2.0])
    for status, nodes, bound, gap, expected in (
        (STATUS.kOptimal, 0, 12.0, 0.0, False), (STATUS.kOptimal, 0, 13.0, 0.0, True), (STATUS.kOptimal, -1, 13.0, 0.0, False),
        (STATUS.kTimeLimit, 0, 13.0, 0.0, False), (STATUS.kOptimal, 0, 13.0, 0.09, False), (STATUS.kOptimal, 5, 11.0, 0.0, True),
        (STATUS.kOptimal, 0, 12.0 + 11e-6, 0.0, False), (STATUS.kOptimal, 0, 12.0 + 13e-6, 0.0, True),
    ):  # fmt: skip
        info = SimpleNamespace(mip_node_count=nodes, mip_dual_bound=bound)
        solver = SimpleNamespace(
            getInfo=lambda info=info: info, getModelStatus=lambda status=status: status, getSolution=lambda: point
        )
        assert highs._contradicts_bound(solver, arrays(), gap) is expected
    # Below 1 the difference counts, above it the share; the worth at the point is 5 and the constant.
    for constant, difference, expected in (
        (-4.0, 1.5e-6, True), (-4.0, 0.5e-6, False), (-5.0, 0.5e-6, False), (-5.0, 1.5e-6, True), (-25.0, 15e-6, False),
        (-25.0, 25e-6, True), (-25.0, -25e-6, True),
    ):  # fmt: skip
        info = SimpleNamespace(mip_node_count=1, mip_dual_bound=5.0 + constant + difference)
        solver = SimpleNamespace(
            getInfo=lambda info=info: info, getModelStatus=lambda: STATUS.kOptimal, getSolution=lambda: point
        )
        assert highs._contradicts_bound(solver, arrays(constant=constant), 0.0) is expected


def test_a_model_has_all_of_its_figures() -> None:
    part = arrays(
        3, low=np.array([0.0, 1.0, 2.0]), integer=np.array([False, True, False]),
        matrix=Sparse.from_dense(np.array([[1.0, 0.0, 2.0], [0.0, -3.0, 0.0]])),
        row_low=np.array([-INF, 1.0]), row_high=np.array([5.0, 1.0]),
        features=ModelFeatures(semi_continuous=(SemiContinuous(1), SemiContinuous(2))),
    )  # fmt: skip
    lp = as_highs(part)
    assert (lp.num_row_, lp.num_col_, lp.offset_, lp.sense_) == (2, 3, 7.0, highspy.ObjSense.kMaximize)
    kinds = highspy.HighsVarType
    assert list(lp.integrality_) == [kinds.kContinuous, kinds.kSemiInteger, kinds.kSemiContinuous]
    assert [list(lp.a_matrix_.start_), list(lp.a_matrix_.index_), list(lp.a_matrix_.value_)] == [
        [0, 2, 3],
        [0, 2, 1],
        [1, 2, -3],
    ]
    for name, values in (
        ("col_cost_", part.cost), ("col_lower_", part.low), ("col_upper_", part.high), ("row_lower_", part.row_low), ("row_upper_", part.row_high),
    ):  # fmt: skip
        assert list(getattr(lp, name)) == values.tolist()
    empty = as_highs(
        arrays(matrix=Sparse.from_dense(np.zeros((1, 2))), sense=Sense.MINIMIZE, integer=np.zeros(2, dtype=bool))
    )
    assert (empty.num_row_, list(empty.a_matrix_.index_), list(empty.integrality_)) == (2, [0], [])
    assert (list(empty.row_lower_), list(empty.row_upper_)) == ([-INF, -INF], [5, INF])
    assert empty.sense_ == highspy.ObjSense.kMinimize


@pytest.mark.parametrize(
    "changed",
    [
        {}, {"sense": Sense.MINIMIZE}, {"integer": np.zeros(3, dtype=bool)}, {"integer": np.array([False, True, False])},
        {"matrix": Sparse.from_dense(np.zeros((2, 3)))}, {"features": ModelFeatures(semi_continuous=(SemiContinuous(2),))},
        {"features": ModelFeatures(quadratic=(QuadraticTerm(0, 1, 2.0),))},
    ],
)  # fmt: skip
def test_a_loaded_model_is_that_of_its_own_form(changed: dict) -> None:
    part = {
        "low": np.array([-INF, 1.0, 2.0]), "matrix": Sparse.from_dense(np.array([[1.0, 0.0, 2.0], [0.0, -3.0, 0.5]])),
        "row_low": np.array([-INF, 1.0]), "row_high": np.array([5.0, INF]), "integer": np.zeros(3, dtype=bool),
    }  # fmt: skip
    model = arrays(3, **part | changed)
    engine, expected = quiet_engine(), quiet_engine()
    assert load_arrays(engine, model) == expected.passModel(as_highs_model(model)) == highspy.HighsStatus.kOk
    ours, theirs = engine.getLp(), expected.getLp()
    for name in ("num_row_", "num_col_", "offset_", "sense_", "col_cost_", "col_lower_", "col_upper_", "row_lower_", "row_upper_"):  # fmt: skip
        assert np.array_equal(getattr(ours, name), getattr(theirs, name)), name
    for name in ("start_", "index_", "value_"):
        assert np.array_equal(getattr(ours.a_matrix_, name), getattr(theirs.a_matrix_, name))
    # Without integers, HiGHS may know the kinds or none.
    kinds = [list(lp.integrality_) or [highspy.HighsVarType.kContinuous] * 3 for lp in (ours, theirs)]
    assert kinds[0] == kinds[1]
    engine.run()
    expected.run()
    assert engine.getInfo().objective_function_value == expected.getInfo().objective_function_value


terms = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(-3, 3).map(float)), min_size=1, max_size=6)


@given(terms, st.lists(st.integers(-3, 3), min_size=3, max_size=3))
def test_quadratic_terms_are_half_of_the_product_with_their_matrix(drawn: list, point: list[int]) -> None:
    quadratic = tuple(QuadraticTerm(*term) for term in drawn)
    model = as_highs_model(arrays(3, features=ModelFeatures(quadratic=quadratic)))
    starts = list(model.hessian_.start_)
    assert model.hessian_.dim_ == 3
    total = 0.0
    for column in range(3):
        end = starts[column + 1] if column + 1 < len(starts) else len(model.hessian_.index_)
        for at in range(starts[column], end):
            row, value = model.hessian_.index_[at], model.hessian_.value_[at]
            assert row >= column
            total += (0.5 if row == column else 1.0) * value * point[row] * point[column]
    assert total == pytest.approx(sum(value * point[first] * point[second] for first, second, value in drawn))


@pytest.mark.parametrize("is_whole", [True, False])
def test_only_linear_programmes_with_an_optimum_have_duals(is_whole: bool) -> None:
    part = arrays(integer=np.full(2, is_whole))
    assert (run_highs(part).row_duals is None) is is_whole
    impossible = arrays(integer=np.full(2, is_whole), row_low=np.array([7.0]), row_high=np.array([8.0]))
    result = run_highs(impossible)
    assert (result.status, result.values, result.row_duals) == (SolverStatus.INFEASIBLE, None, None)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_a_solve_has_its_number_of_threads(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    spy = watch(monkeypatch, Spy())
    run_highs(arrays(), SolverOptions(threads=threads))
    expected = {"threads": threads, "parallel": "on"} if threads > 1 else {}
    assert {name: value for name, value in spy.options[0].items() if name in ("threads", "parallel")} == expected
    # Later solves have one thread again.
    monkeypatch.undo()
    assert run_highs(arrays(), SolverOptions()).status is SolverStatus.OPTIMAL


@pytest.mark.parametrize(
    ("nodes", "simplex", "interior", "work"),
    [(-1, -1, 0, (0, 0)), (0, 0, 0, (0, 0)), (5, 3, 4, (5, 7)), (1, -1, 4, (1, 4)), (1, 3, -1, (1, 3))],
)
def test_counts_that_do_not_exist_are_0(
    nodes: int, simplex: int, interior: int, work: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    spy = watch(monkeypatch, Spy(nodes=nodes))
    spy.claimed |= {"simplex_iteration_count": simplex, "ipm_iteration_count": interior}
    result = run_highs(arrays(), SolverOptions())
    assert (result.work["nodes"], result.work["iterations"]) == work


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ({"seconds": 0.0}, {"seconds": -0.1}), ({"gap": 0.0}, {"gap": -0.1}), ({"gap": 0.5}, {"gap": float("nan")}),
        ({"nodes": 0}, {"nodes": -1}), ({"iterations": 0}, {"iterations": -1}), ({"threads": 1}, {"threads": 0}),
        ({"seed": 0}, {"seed": -1}),
    ],
)  # fmt: skip
def test_options_are_not_negative(right: dict, wrong: dict) -> None:
    SolverOptions(**right)
    with pytest.raises(ModellingError):
        SolverOptions(**wrong)


def test_solvers_are_quiet_have_one_thread_and_keep_small_coefficients(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(highs, "_PREPARED", [])
    highs.prepare_engines(2)
    prepared = list(highs._PREPARED)
    engines = [quiet_engine() for _ in range(3)]
    assert len(prepared) == 2
    assert {id(engine) for engine in prepared} < {id(engine) for engine in engines}
    for engine in engines:
        options = [engine.getOptionValue(name)[1] for name in ("output_flag", "threads", "small_matrix_value")]
        assert options == [False, 1, 1e-12]


def test_a_linear_programme_leaves_a_basis() -> None:
    linear = run_highs(arrays(integer=np.zeros(2, dtype=bool)))
    assert highs.basis_of(linear.engine) is not None
    assert highs.basis_of(quiet_engine()) is None
    assert highs.basis_of(None) is None
    assert highs.basis_of(linear) is None


@given(seed=st.integers(0, 10**6), worse=st.booleans())
def test_a_basis_of_the_same_size_changes_no_optimum(seed: int, worse: bool) -> None:
    random = np.random.default_rng(seed)
    # HiGHS without presolve leaves infeasible models with such figures undecided at times.
    scales = 10.0 ** random.integers(-3, 4, size=(3, 4))
    matrix = Sparse.from_dense(random.integers(-3, 4, size=(3, 4)) * scales)
    first, second = (
        arrays(
            4,
            cost=random.integers(-5, 6, 4).astype(float),
            integer=np.zeros(4, dtype=bool),
            matrix=matrix,
            row_low=np.full(3, -INF),
            row_high=random.integers(-2 if worse else 0, 9, 3).astype(float),
        )
        for _ in range(2)
    )
    basis = highs.basis_of(run_highs(first).engine)
    cold, warm = run_highs(second), run_highs(second, SolverOptions(basis=basis), np.full(4, 1.0))
    assert warm.status is cold.status
    if cold.values is not None and warm.values is not None:
        assert second.cost @ warm.values == pytest.approx(second.cost @ cold.values, abs=1e-7)


def test_a_basis_is_used_unless_it_has_another_size() -> None:
    model = arrays(integer=np.zeros(2, dtype=bool))
    solved = run_highs(model)
    again = run_highs(model, SolverOptions(basis=highs.basis_of(solved.engine)), solved.values)
    assert again.work["iterations"] == 0
    assert again.values.tolist() == solved.values.tolist()
    larger = arrays(
        integer=np.zeros(2, dtype=bool),
        matrix=Sparse.from_dense(np.ones((2, 2))),
        row_low=np.full(2, -INF),
        row_high=np.array([5.0, 100.0]),
    )
    resized = run_highs(larger, SolverOptions(basis=highs.basis_of(solved.engine)))
    assert resized.values.tolist() == solved.values.tolist()
