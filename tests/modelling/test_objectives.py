"""Weighted and ordered objectives, against the enumeration of all points and against the flat solve."""

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest

from oragent._base.errors import ModellingError
from oragent.modelling.convert import convert_model
from oragent.modelling.data.names import group_by_names
from oragent.modelling.files.model_files import read
from oragent.modelling.files.model_json import model_dict, model_from_dict
from oragent.modelling.opening import open_model
from oragent.modelling.operations import ModelSession, SolveLimits
from oragent.modelling.solving.model_solving import solve

# Costs, emissions (both minimised) and value (maximised) of four projects, of which at least two are chosen.
COST = (5.0, 4.0, 7.0, 4.0)
EMISSION = (2.0, 6.0, 1.0, 5.0)
VALUE = (3.0, 9.0, 2.0, 8.0)
MPS = """NAME projects
ROWS
 N cost
 N emission
 N value
 G two
COLUMNS
 M1 'MARKER' 'INTORG'
{columns} M2 'MARKER' 'INTEND'
RHS
 R two 2
BOUNDS
{bounds}ENDATA
"""
POINTS = [point for point in itertools.product((0, 1), repeat=4) if sum(point) >= 2]


@pytest.fixture(name="projects", scope="module")
def read_projects(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], ModelSession]:
    """Sessions of the model with three N rows; ``value`` is maximised."""
    columns = "".join(
        f" x{at} cost {COST[at]} emission {EMISSION[at]}\n x{at} value {VALUE[at]} two 1\n" for at in range(4)
    )
    bounds = "".join(f" BV B x{at}\n" for at in range(4))
    path = tmp_path_factory.mktemp("model") / "projects.mps"
    path.write_text(MPS.format(columns=columns, bounds=bounds))
    model = group_by_names(read(path))
    sums = " + ".join(f"{VALUE[at]:g} * x{at}" for at in range(4))

    def begin() -> ModelSession:
        session = ModelSession(model)
        session.ask(f"objective value: maximize {sums}")
        return session

    return begin


def total(weights: tuple[float, ...], point: tuple[int, ...]) -> float:
    return sum(weight * use for weight, use in zip(weights, point, strict=True))


def chosen(session: ModelSession) -> tuple[int, ...]:
    scenario = session.study.present
    point = session.study.point(scenario)
    at = dict(zip(scenario.model.flat_columns, point, strict=True))
    return tuple(round(at[f"x{place}"]) for place in range(4))


@pytest.mark.slow
def test_n_rows_of_a_file_are_combined_by_weight(projects: Callable[[], ModelSession]) -> None:
    session = projects()
    session.ask("objective cost + 1.5 * emission + 0.5 * value")
    result = session.ask("solve")
    truth = min(total(COST, p) + 1.5 * total(EMISSION, p) - 0.5 * total(VALUE, p) for p in POINTS)
    assert result.objective.value == pytest.approx(truth)
    assert result.stages == ()
    parts = {part.name: part for part in result.objectives}
    point = chosen(session)
    assert [parts[name].value.value for name in ("cost", "emission", "value")] == [
        total(COST, point),
        total(EMISSION, point),
        total(VALUE, point),
    ]
    assert (parts["emission"].weight, parts["emission"].stage) == (1.5, 1)


ORDERS = {
    "cost then value": lambda p: (total(COST, p), -total(VALUE, p)),
    "value then emission then cost": lambda p: (-total(VALUE, p), total(EMISSION, p), total(COST, p)),
    "emission then 2 * cost + value": lambda p: (total(EMISSION, p), 2 * total(COST, p) - total(VALUE, p)),
}


@pytest.mark.parametrize("order", ORDERS)
def test_ordered_objectives_agree_with_sorting_every_point(projects: Callable[[], ModelSession], order: str) -> None:
    session = projects()
    session.ask(f"objective {order}")
    result = session.ask("solve")
    truth = min(map(ORDERS[order], POINTS))
    assert ORDERS[order](chosen(session)) == pytest.approx(truth)
    signs = [1 if stage.sense == "minimize" else -1 for stage in result.stages]
    assert [sign * stage.optimum.value for sign, stage in zip(signs, result.stages, strict=True)] == pytest.approx(
        truth
    )
    assert all(stage.optimum.is_exact for stage in result.stages)
    # The flat solve and the stored model mean the same.
    flat = solve(session.model)
    assert ORDERS[order](tuple(round(flat.values[f"x{at}"]) for at in range(4))) == pytest.approx(truth)
    again = ModelSession(model_from_dict(model_dict(session.model)))
    assert again.ask("solve").stages == result.stages


@pytest.mark.parametrize(
    "within", ["10 %", "3.5", *(pytest.param(text, marks=pytest.mark.slow) for text in ("0 %", "60 %", "1e3"))]
)
def test_a_stage_may_give_up_a_share_or_an_amount_of_its_optimum(
    projects: Callable[[], ModelSession], within: str, tmp_path: Path
) -> None:
    session = projects()
    session.ask(f"objective cost within {within} then emission")
    result = session.ask("solve")
    best = min(total(COST, p) for p in POINTS)
    given_up = best * float(within[:-1]) / 100 if within.endswith("%") else float(within)
    allowed = [p for p in POINTS if total(COST, p) <= best + given_up + 1e-9]
    least = min(total(EMISSION, p) for p in allowed)
    assert [stage.optimum.value for stage in result.stages] == [best, least]
    assert result.objective.value in {total(COST, p) for p in allowed if total(EMISSION, p) == least}
    flat = solve(session.model)
    at = tuple(round(flat.values[f"x{place}"]) for place in range(4))
    assert total(EMISSION, at) == result.stages[1].optimum.value
    for ending in (".json", ".lp", ".mps"):
        convert_model(session.model, tmp_path / f"again{ending}")
        again = ModelSession(open_model(tmp_path / f"again{ending}")).ask("solve")
        assert [stage.optimum.value for stage in again.stages] == [stage.optimum.value for stage in result.stages]


def test_a_comparison_shows_each_stage(projects: Callable[[], ModelSession]) -> None:
    session = projects()
    session.ask("objective cost then emission")
    result = session.ask("whatif two = 3")
    before = min((total(COST, p), total(EMISSION, p)) for p in POINTS)
    after = min((total(COST, p), total(EMISSION, p)) for p in POINTS if sum(p) >= 3)
    differences = [stage.difference.value for stage in result.stages]
    assert differences == [after[0] - before[0], after[1] - before[1]]
    assert result.objective.difference.value == differences[0]


def test_a_change_of_coefficients_reaches_the_sum(projects: Callable[[], ModelSession]) -> None:
    session = projects()
    session.ask("objective cost + emission")
    before = session.ask("solve").objective.value
    session.ask("emission(x2) += 10")
    truth = min(total(COST, p) + total((2.0, 6.0, 11.0, 5.0), p) for p in POINTS)
    assert session.ask("solve").objective.value == truth != before
    assert [info.stage for info in session.ask("describe").objectives] == [1, 1, 0]
    session.ask("objective emission")
    assert [info.stage for info in session.ask("describe").objectives] == [1, 0, 0]


def test_a_stage_after_an_open_one_claims_no_more_than_is_proven(projects: Callable[[], ModelSession]) -> None:
    exact = projects()
    exact.ask("objective cost then emission then value")
    truth = [stage.optimum.value for stage in exact.ask("solve").stages]
    session = projects()
    session.study.limits = SolveLimits(nodes=0, gap=0.9)
    # A point far from the optimum is all that is known of the first stage.
    session.ask("objective cost then emission then value")
    scenario = session.study.present
    session.study.pool.add_point(scenario.known.arrays.high)
    scenario.known.is_solved_with = session.study.limits
    stages = session.ask("solve").stages
    assert len(stages) == 3
    for stage, value in zip(stages, truth, strict=True):
        assert stage.optimum.low is None or stage.optimum.low <= value + 1e-9
        assert stage.optimum.high is None or stage.optimum.high >= value - 1e-9
    assert not stages[0].optimum.is_exact
    assert stages[1].optimum.high is None
    assert (stages[2].optimum.low, stages[2].optimum.high) == (None, None)


@pytest.mark.parametrize(
    "line",
    [
        "objective cost + profit",
        "objective cost then cost",
        "objective 0 * cost + emission",
        "objective cost within 5 % % then emission",
        "objective cost within -5 % then emission",
        "objective cost emission",
        "objective cost +",
        "objective cost - emission",
    ],
)
def test_wrong_combinations_are_refused_and_change_nothing(projects: Callable[[], ModelSession], line: str) -> None:
    session = projects()
    with pytest.raises(ModellingError) as caught:
        session.ask(line)
    assert "\n" not in str(caught.value)
    assert len(session.study.changes) == 1
