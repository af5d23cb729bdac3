"""Sixty questions on six models: each answer is that of an independent script, or the question is refused."""

from collections.abc import Callable

import numpy as np
import pytest

from oragent._base.errors import ModellingError
from oragent.modelling.operations import ModelSession
from tests.modelling import indexed_models as models
from tests.modelling import truths
from tests.modelling.indexed_models import CITIES, CLIENTS, DEPOTS, HOURS, ITEMS, PLANTS, PRODUCTS, SITES, WEEKS

INF = np.inf


def difference(result) -> float | None:
    return result.objective.difference.value


def optimum(result) -> float | None:
    return result.objective.value


def after(result) -> float | None:
    return result.objective.after.value


def up(result) -> float | None:
    return result.members[0].price_up.value


def down(result) -> float | None:
    return result.members[0].price_down.value


def with_bounds(truth: truths.Truth, names, low=None, high=None) -> float | None:
    for name in names:
        truth.low[name] = truth.low[name] if low is None else low
        truth.high[name] = truth.high[name] if high is None else high
    return truth.solve()


def with_row(truth: truths.Truth, terms, low, high) -> float | None:
    truth.row(terms, low, high)
    return truth.solve()


def change(truth: float | None, build: Callable[[], truths.Truth]) -> float | None:
    """An optimum less that of the model without changes; None where there is none."""
    return None if truth is None else truth - best(build())


def best(truth: truths.Truth) -> float:
    value = truth.solve()
    assert value is not None
    return value


def capped_depots() -> float | None:
    truth = truths.transport(T)
    for d in DEPOTS:
        truth.row({("ship", d, c, w): 1.0 for c in CITIES for w in WEEKS}, -INF, 190)
    return truth.solve()


def free_setups() -> float | None:
    """Lot sizing in which a set-up takes no time."""
    truth = truths.lots(L)
    rows = [row for row in truth.rows if len(row[0]) != 2 * len(PRODUCTS)]
    lines = [row for row in truth.rows if len(row[0]) == 2 * len(PRODUCTS)]
    assert len(lines) == len(WEEKS)
    truth.rows = rows + [
        ({name: value for name, value in terms.items() if name[0] == "make"}, *limits) for terms, *limits in lines
    ]
    return truth.solve()


def slow_source() -> float | None:
    truth = truths.network(N)
    for arc in N["arc_cost"]:
        if arc[0] == "s":
            truth.high["flow", *arc] = 5.0
    return truth.solve()


T, L, S, B, P, N = (
    models.transport_data(),
    models.lots_data(),
    models.sites_data(),
    models.bakery_data(),
    models.power_data(),
    models.network_data(),
)
shift, scale = truths.shifted, truths.scaled
LATE = ("wk3", "wk4", "wk5")


def extreme(build: Callable[[], truths.Truth], within: float, terms, sign: float) -> float | None:
    """The most (sign -1) or least of terms within a distance of the optimum."""
    truth = build()
    limit = truth.sign * best(build()) + within
    truth.row({name: truth.sign * cost for name, cost in truth.cost.items()}, -INF, limit)
    truth.cost = dict.fromkeys(truth.cost, 0.0) | terms
    truth.sign = sign
    return truth.solve()


SHIP_LYON = {("ship", "Lyon", c, w): 1.0 for c in CITIES for w in WEEKS}
QUESTIONS = [
    # transport
    ("transport", ["solve"], optimum, lambda: best(truths.transport(T))),
    (
        "transport",
        ["whatif demand[*, wk3..wk5] *= 1.05"],
        after,
        lambda: best(truths.transport(scale(T, "demand", 1.05, lambda c, w: w in LATE))),
    ),
    (
        "transport",
        ["whatif demand[paris, WK3..wk5] *= 1.1"],
        difference,
        lambda: (
            best(truths.transport(scale(T, "demand", 1.1, lambda c, w: c == "Paris" and w in LATE)))
            - best(truths.transport(T))
        ),
    ),
    (
        "transport",
        ["whatif supply[Lyon, *] += 50 %"],
        after,
        lambda: best(truths.transport(scale(T, "supply", 1.5, lambda d, w: d == "Lyon"))),
    ),
    (
        "transport",
        ["whatif ship[Nantes, *, *] = 0"],
        after,
        lambda: with_bounds(truths.transport(T), [("ship", "Nantes", c, w) for c in CITIES for w in WEEKS], high=0.0),
    ),
    ("transport", ["ship[* except Nîmes, *, *] = 0"], None, None),
    (
        "transport",
        ['whatif ship[*, * except "Nimes", "Milano", *] >= 2'],
        after,
        lambda: with_bounds(
            truths.transport(T), [("ship", d, c, w) for d in DEPOTS for c in ("Paris", "Nice") for w in WEEKS], low=2.0
        ),
    ),
    (
        "transport",
        ["total demand[*, wk2]"],
        lambda r: r.total.value,
        lambda: sum(T["demand"][c, "wk2"] for c in CITIES),
    ),
    (
        "transport",
        ["total demand by city"],
        lambda r: r.groups[0].total.value,
        lambda: max(sum(T["demand"][c, w] for w in WEEKS) for c in CITIES),
    ),
    (
        "transport",
        ["price capacity[Sued, wk1]"],
        up,
        lambda: best(truths.transport(shift(T, "supply", 1, ("Sued", "wk1")))) - best(truths.transport(T)),
    ),
    (
        "transport",
        ["price capacity[Sued, wk1] by 10"],
        down,
        lambda: best(truths.transport(shift(T, "supply", -10, ("Sued", "wk1")))) - best(truths.transport(T)),
    ),
    (
        "transport",
        ["top 1 demand by price"],
        up,
        lambda: (
            max(best(truths.transport(shift(T, "demand", 1, (c, w)))) for c in CITIES for w in WEEKS)
            - best(truths.transport(T))
        ),
    ),
    (
        "transport",
        ["whynot ship[Lyon, Milano, *] >= 5"],
        difference,
        lambda: change(
            with_bounds(truths.transport(T), [("ship", "Lyon", "Milano", w) for w in WEEKS], low=5.0),
            lambda: truths.transport(T),
        ),
    ),
    (
        "transport",
        ["row few: sum ship[Lyon, *, *] <= 30", "solve"],
        optimum,
        lambda: with_row(truths.transport(T), SHIP_LYON, -INF, 30),
    ),
    ("transport", ["row cap: sum ship[*, *, *] by depot <= 190", "solve"], optimum, capped_depots),
    (
        "transport",
        ["sweep holding = 0, 1, 4"],
        lambda r: r.points[2].objective.value,
        lambda: best(truths.transport({**T, "holding": {(): 4.0}})),
    ),
    (
        "transport",
        ["least sum ship[Lyon, *, *] within 5 %"],
        lambda r: r.figure.value,
        lambda: extreme(lambda: truths.transport(T), 0.05 * best(truths.transport(T)), SHIP_LYON, 1.0),
    ),
    ("transport", ["objective co2", "solve"], optimum, lambda: best(truths.transport(T, "emission"))),
    (
        "transport",
        ["frontier cost co2 4"],
        lambda r: r.points[-1].second.value,
        lambda: best(truths.transport(T, "emission")),
    ),
    ("transport", ["frontier cost co2 4"], lambda r: r.points[0].first.value, lambda: best(truths.transport(T))),
    (
        "transport",
        ["whatif demand *= 3"],
        lambda r: r.status_after == "infeasible",
        lambda: truths.transport(scale(T, "demand", 3)).solve() is None,
    ),
    (
        "transport",
        ["top 1 capacity by price"],
        up,
        lambda: (
            min(best(truths.transport(shift(T, "supply", 1, (d, w)))) for d in DEPOTS for w in WEEKS)
            - best(truths.transport(T))
        ),
    ),
    # lot sizing
    ("lots", ["solve"], optimum, lambda: best(truths.lots(L))),
    (
        "lots",
        ["whatif setup[Cider, *] = 1"],
        difference,
        lambda: change(
            with_bounds(truths.lots(L), [("setup", "Cider", w) for w in WEEKS], low=1.0), lambda: truths.lots(L)
        ),
    ),
    (
        "lots",
        ["row few: sum setup[Cider, *] <= 2", "solve"],
        optimum,
        lambda: with_row(truths.lots(L), {("setup", "Cider", w): 1.0 for w in WEEKS}, -INF, 2),
    ),
    (
        "lots",
        ["whatif row pair: sum setup[*, wk2] <= 1"],
        after,
        lambda: with_row(truths.lots(L), {("setup", p, "wk2"): 1.0 for p in PRODUCTS}, -INF, 1),
    ),
    (
        "lots",
        ["price line[wk3] by 20"],
        down,
        lambda: best(truths.lots(shift(L, "hours", -20, ("wk3",)))) - best(truths.lots(L)),
    ),
    ("lots", ["whatif setup_cost *= 2"], after, lambda: best(truths.lots(scale(L, "setup_cost", 2)))),
    (
        "lots",
        ["whatif cost(setup[Juice, *]) += 25"],
        after,
        lambda: best(truths.lots(shift(L, "setup_cost", 25, ("Juice",)))),
    ),
    (
        "lots",
        ["whatif hours += 5 %; demand[Perry, *] *= 1.1"],
        after,
        lambda: best(truths.lots(scale(scale(L, "hours", 1.05), "demand", 1.1, lambda p, w: p == "Perry"))),
    ),
    (
        "lots",
        ["whatif forbid store[*, wk1..wk2]"],
        after,
        lambda: with_bounds(truths.lots(L), [("store", p, w) for p in PRODUCTS for w in ("wk1", "wk2")], high=0.0),
    ),
    (
        "lots",
        ["most sum store[*, *] within 30"],
        lambda r: r.figure.value,
        lambda: extreme(lambda: truths.lots(L), 30, {("store", p, w): 1.0 for p in PRODUCTS for w in WEEKS}, -1.0),
    ),
    ("lots", ["whatif line(setup[*, *]) = 0"], after, free_setups),
    # facility location
    ("sites", ["solve"], optimum, lambda: best(truths.sites(S))),
    ("sites", ["whatif open[Nantes] = 0"], after, lambda: with_bounds(truths.sites(S), [("open", "Nantes")], high=0.0)),
    (
        "sites",
        ["whatif open[epinal] = 1"],
        difference,
        lambda: change(with_bounds(truths.sites(S), [("open", "Épinal")], low=1.0), lambda: truths.sites(S)),
    ),
    ("sites", ["top 1 open by coefficient"], lambda r: r.members[0].coefficient.value, lambda: max(S["rent"].values())),
    ("sites", ["top -1 open by rent"], lambda r: r.members[0].value.value, lambda: min(S["rent"].values())),
    (
        "sites",
        ["whatif rent[Lyon] = 0"],
        after,
        lambda: best(truths.sites({**S, "rent": {**S["rent"], ("Lyon",): 0.0}})),
    ),
    (
        "sites",
        ["whatif row n: sum open <= 2"],
        after,
        lambda: with_row(truths.sites(S), {("open", s): 1.0 for s in SITES}, -INF, 2),
    ),
    (
        "sites",
        ["price rent[Torino] by 10"],
        up,
        lambda: best(truths.sites(shift(S, "rent", 10, ("Torino",)))) - best(truths.sites(S)),
    ),
    (
        "sites",
        ["whynot serve[Nice, c1..c3] >= 1"],
        difference,
        lambda: change(
            with_bounds(truths.sites(S), [("serve", "Nice", c) for c in CLIENTS[:3]], low=1.0), lambda: truths.sites(S)
        ),
    ),
    (
        "sites",
        ["least sum open within 20 %"],
        lambda r: r.figure.value,
        lambda: extreme(lambda: truths.sites(S), 0.2 * best(truths.sites(S)), {("open", s): 1.0 for s in SITES}, 1.0),
    ),
    ("sites", ["forbid open[Nice]", "free open[Nice]", "solve"], optimum, lambda: best(truths.sites(S))),
    # bakery
    ("bakery", ["solve"], optimum, lambda: best(truths.bakery(B))),
    (
        "bakery",
        ["whatif profit(make[croissant]) += 0.1"],
        after,
        lambda: best(truths.bakery(shift(B, "margin", 0.1, ("croissant",)))),
    ),
    (
        "bakery",
        ["sweep oven_hours = 55, 60, 65, 70"],
        lambda r: r.points[3].difference.value,
        lambda: best(truths.bakery({**B, "oven_hours": {(): 70.0}})) - best(truths.bakery(B)),
    ),
    (
        "bakery",
        ["most make[bagel] within 100"],
        lambda r: r.figure.value,
        lambda: extreme(lambda: truths.bakery(B), 100, {("make", "bagel"): 1.0}, -1.0),
    ),
    (
        "bakery",
        ["price oven_hours"],
        down,
        lambda: best(truths.bakery(shift(B, "oven_hours", -1, ()))) - best(truths.bakery(B)),
    ),
    ("bakery", ["whatif sales *= 90 %"], after, lambda: best(truths.bakery(scale(B, "sales", 0.9)))),
    (
        "bakery",
        ["objective pieces: maximize sum make", "solve"],
        optimum,
        lambda: best(truths.bakery({**B, "margin": dict.fromkeys(B["margin"], 1.0)})),
    ),
    (
        "bakery",
        ["objective worth: maximize sum margin * make - 10", "solve"],
        optimum,
        lambda: best(truths.bakery(B)) - 10,
    ),
    # power
    (
        "power",
        ["whatif upper(wind[1..4]) *= 0.5"],
        after,
        lambda: best(truths.power(scale(P, "wind_forecast", 0.5, lambda h: h in HOURS[:4]))),
    ),
    ("power", ["price served[3]"], up, lambda: best(truths.power(shift(P, "load", 1, ("3",)))) - best(truths.power(P))),
    ("power", ["whatif relax rated[gas, *] by 10"], after, lambda: best(truths.power(shift(P, "size", 10, ("gas",))))),
    (
        "power",
        ["whatif drop rated[coal, 2..6]"],
        after,
        lambda: with_bounds(truths.power(P), [("run", "coal", h) for h in HOURS[1:]], high=INF),
    ),
    (
        "power",
        ["total run by plant"],
        lambda r: sum(group.total.value for group in r.groups),
        lambda: sum(P["load"].values()) - best_wind(),
    ),
    (
        "power",
        ["whatif load *= 2"],
        lambda r: r.status_after == "infeasible",
        lambda: truths.power(scale(P, "load", 2)).solve() is None,
    ),
    # network
    ("network", ["solve"], optimum, lambda: best(truths.network(N))),
    ("network", ["whatif flow[s, *] <= 5"], after, slow_source),
    (
        "network",
        ["whatif arc_room[*, t] *= 1.5"],
        after,
        lambda: best(truths.network(scale(N, "arc_room", 1.5, lambda a, b: b == "t"))),
    ),
    ("network", ["total flow[*, t]"], lambda r: r.total.value, lambda: 10.0),
    ("network", ["total flow by node"], None, None),
    ("network", ['total flow[s, *] by "2"'], lambda r: r.total.value, lambda: 10.0),
    ("network", ["flow[a..c, *] = 0"], None, None),
]


def best_wind() -> float:
    """The wind that is used: all of it, as it costs nothing, or as much as the load takes."""
    return sum(min(P["wind_forecast"][h,], P["load"][h,]) for h in HOURS)


@pytest.mark.parametrize(
    ("name", "lines", "read", "truth"), QUESTIONS, ids=[f"{entry[0]}: {entry[1][0]}" for entry in QUESTIONS]
)
def test_each_answer_is_that_of_an_independent_script_or_refused(name, lines, read, truth) -> None:
    session = ModelSession(getattr(models, name)())
    if truth is None:
        with pytest.raises(ModellingError):
            session.run(lines)
        assert session.study.changes == ()
        return
    answer, expected = read(session.run(lines)[-1]), truth()
    if expected is None:
        assert answer is None
    else:
        assert answer == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_the_questions_are_sixty_on_six_models() -> None:
    assert len(QUESTIONS) >= 60
    assert len({entry[0] for entry in QUESTIONS}) == 6
    assert PLANTS
    assert ITEMS
