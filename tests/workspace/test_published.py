"""The table as typed in agrees with the means that the paper gives of it."""

from statistics import mean

import pytest

from oragent_benchmarks.workspace.published import GUROBI, HIGHS, MODES, published_table

# Means over the 20 models with Gurobi, in the order of the columns.
MEANS = (47.8, 57.4, 64.8, 59.0, 64.9)


def test_the_means_over_models_are_the_paper_s() -> None:
    assert len(GUROBI) == 20
    for column, published in enumerate(MEANS):
        assert mean(scores[column] for scores in GUROBI.values()) == pytest.approx(published, abs=0.051)
    assert HIGHS.keys() <= GUROBI.keys()


def test_a_model_of_the_paper_is_shown_beside_its_own_scores() -> None:
    table = published_table("revise-model", ["gpt-5.4", "a new one"])
    assert table.rows[0] == ("gpt-5.4 (Gurobi)", "85")
    assert len(table.rows) == 1 + len(HIGHS)
    assert len(published_table(MODES[0], []).rows) == len(GUROBI) + len(HIGHS)
