"""What modes come to together: rates, gains, correlations, and what prompt tokens buy."""

from collections.abc import Mapping

import pytest

from oragent._base.budget import Spent
from oragent.evals.bench.plan import BenchCell
from oragent.evals.workspace.across_modes import (
    SOLVERS,
    gain_table,
    published_tables,
    rate_table,
    token_table,
    track_table,
)
from oragent.evals.workspace.grading import AttemptOutcome
from oragent.evals.workspace.tables import MeasuredAgent
from oragent.ledger.study import FinishedCase


def measured(
    subject: str, name: str, outcomes: list[AttemptOutcome], tokens: int = 0, **settings: str
) -> MeasuredAgent:
    own = {"agent": name, "interface": "filesystem", "track": "pulp-highs", **settings}
    label = ", ".join((name, *settings.values()))
    done = [
        FinishedCase(
            f"i{place}", {"outcome": one, "passed": one is AttemptOutcome.PASSED, "prompt_tokens": tokens}, Spent()
        )
        for place, one in enumerate(outcomes)
    ]
    return MeasuredAgent(subject, label, own, {BenchCell(subject, label, 0): done}, len(done))


def explained(name: str, points: float) -> MeasuredAgent:
    done = [FinishedCase("i0", {"outcome": "answered", "total": points, "prompt_tokens": 0}, Spent())]
    return MeasuredAgent("explain", name, {"agent": name}, {BenchCell("explain", name, 0): done}, 1)


PASSED, WRONG, BROKEN, NONE = (
    AttemptOutcome.PASSED,
    AttemptOutcome.WRONG_DATA,
    AttemptOutcome.RUNTIME_ERROR,
    AttemptOutcome.INFEASIBLE,
)
FOUND: Mapping[str, list[MeasuredAgent]] = {
    "build": [
        measured("build", "a", [PASSED, WRONG, BROKEN, NONE], 1000),
        measured("build", "b", [PASSED, PASSED, WRONG, WRONG], 4000),
        measured("build", "c", [PASSED] * 4, 2000),
        measured("build", "a", [PASSED, PASSED, PASSED, NONE], 3000, interface="flat"),
    ],
    "revise-code": [
        measured("revise-code", "a", [PASSED, PASSED, WRONG, NONE], 2000),
        measured("revise-code", "b", [WRONG] * 4, 1000),
        measured("revise-code", "c", [PASSED] * 4, 2000),
    ],
    "revise-all": [measured("revise-all", "a", [PASSED] * 4, 2000)],
    "explain": [explained("a", 80.0), explained("b", 60.0), explained("c", 70.0)],
}


def rows(table, *columns: int) -> list[tuple[str, ...]]:
    return [tuple(row[place] for place in columns) for row in table.rows]


def test_a_run_counts_as_executed_and_a_point_as_feasible() -> None:
    table = rate_table(FOUND)
    assert table.heads[:3] == ("agent", "build: executed %", "build: feasible %")
    assert table.rows[0][:5] == ("a", "75.0", "50.0", "100.0", "75.0")
    assert rate_table({"explain": FOUND["explain"]}) is None


def test_gains_stand_beside_the_published_ones_and_correlations_are_over_agents() -> None:
    found = {(what, who): (ours, published) for what, who, ours, published in gain_table(FOUND).rows}
    assert found["revise-all − revise-code", "a"] == ("+50.0", "+7.4")
    assert found["revise-code − build", "a"][0] == "+25.0"
    assert found["build, filesystem − flat", "a"] == ("-50.0", "-8.2")
    assert found["correlation of build and revise-code", "3 agents"] == ("0.65", "0.82")
    assert found["correlation of revise-code and explain", "3 agents"][1] == "0.28"


def test_a_track_has_a_range_over_its_modes_as_published() -> None:
    found = {
        "build": [*FOUND["build"], measured("build", "a", [PASSED, NONE], track="highspy")],
        "revise-code": [*FOUND["revise-code"], measured("revise-code", "a", [PASSED] * 4, track="highspy")],
        "explain": FOUND["explain"],
    }
    table = track_table(found)
    assert table.heads == ("track", "build", "revise-code", "explain", "range")
    assert rows(table, 0, 1, 2, 4) == [("pulp-highs", "62.5", "50.0", "12.5"), ("highspy", "50.0", "100.0", "50.0")]
    assert track_table({"build": found["build"]}) is None
    for one in SOLVERS:  # that is how the published column is made
        every = (one.build, one.revise_model, one.revise_code, one.revise_all, one.explain)
        assert one.range == pytest.approx(max(every) - min(every), abs=0.11)


def test_the_front_holds_who_has_most_points_for_their_tokens() -> None:
    table = token_table(FOUND)
    build = [row for row in table.rows if row[0] == "build"]
    assert [(row[1], row[5]) for row in build] == [("a", "yes"), ("b", "no"), ("c", "yes"), ("a, flat", "no")]
    assert build[0][4] == "25.00"
    assert [row for row in table.rows if row[0] == "revise-code − build"] == [
        ("revise-code − build", "a", "+25.0", "1000", "–", "–", "+25.00")
    ]
    assert token_table({"explain": FOUND["explain"]}) is None


def test_all_published_tables_are_there() -> None:
    sizes = [len(table.rows) for _, table in published_tables()]
    assert sizes == [20, 5, 3, 4, 6, 5]
    assert all(len(row) == len(table.heads) for _, table in published_tables() for row in table.rows)


@pytest.mark.parametrize("table", [rate_table, gain_table, token_table, track_table])
def test_nothing_done_is_no_error(table) -> None:
    table({"build": [measured("build", "a", [])], "explain": []})
