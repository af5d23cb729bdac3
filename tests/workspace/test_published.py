"""The tables as typed in agree with the means, ranges and correlations that the paper gives of them."""

from statistics import correlation, mean

import pytest

from oragent.evals.workspace import across_modes as published


def test_the_means_over_models_are_the_paper_s() -> None:
    gurobi = next(row for row in published.SOLVERS if row.solver == "Gurobi")
    assert len({row.model for row in published.MAIN}) == 20
    for figure in ("build", "revise_model", "revise_code", "revise_all", "explain"):
        assert mean(getattr(row, figure) for row in published.MAIN) == pytest.approx(getattr(gurobi, figure), abs=0.051)


def test_the_ranges_of_solvers_are_the_paper_s() -> None:
    for row in published.SOLVERS:
        figures = (row.build, row.revise_model, row.revise_code, row.revise_all, row.explain)
        assert max(figures) - min(figures) == pytest.approx(row.range, abs=0.11)


def test_the_correlations_over_models_are_the_paper_s() -> None:
    columns = {"build": "build", "revise": "revise_code", "explain": "explain"}
    for (one, other), value in published.CORRELATIONS.items():
        found = correlation(*([getattr(row, columns[name]) for row in published.MAIN] for name in (one, other)))
        assert found == pytest.approx(value, abs=0.005)


def test_file_systems_and_flat_prompts_differ_as_the_paper_says() -> None:
    for figure, difference in (("build", -8.2), ("revise_code", -12.2), ("explain", 0.3)):
        pairs = [getattr(row, figure) for row in published.FLAT]
        assert mean(tools - flat for tools, flat in pairs) == pytest.approx(difference, abs=0.05)
    for row in published.FLAT:
        main = published.find_scores(row.model)
        assert main is not None
        assert (row.build[0], row.revise_code[0], row.explain[0]) == (main.build, main.revise_code, main.explain)


def test_all_tables_name_models_of_the_main_one() -> None:
    assert all(published.find_scores(row.model) for row in (*published.SNAPSHOT, *published.HIGHS))
    assert published.find_scores("a model of tomorrow") is None
