"""Ranks and critical differences agree with published values and with a test written out."""

import math

import pytest

from oragent.report.live.watched import rank_strategies, read_gains

# Demšar 2006, table 6: area under the curve of four classifiers on 14 data sets, and their ranks.
AUC = {
    "C4.5": [.763, .599, .954, .628, .882, .936, .661, .583, .775, 1.0, .94, .619, .972, .957],
    "C4.5+m": [.768, .591, .971, .661, .888, .931, .668, .583, .838, 1.0, .962, .666, .981, .978],
    "C4.5+cf": [.771, .59, .968, .654, .886, .916, .609, .563, .866, 1.0, .965, .614, .9751, .946],
    "C4.5+m+cf": [.798, .569, .967, .657, .898, .931, .685, .625, .875, 1.0, .962, .669, .975, .970],
}  # fmt: skip


def test_ranks_and_critical_difference_are_those_of_the_paper() -> None:
    gains = {name: {("data", at): value for at, value in enumerate(values)} for name, values in AUC.items()}
    found = rank_strategies(gains)
    assert {name: round(rank, 3) for name, rank in found.ranks.items()} == {
        "C4.5": 3.143, "C4.5+m": 2.0, "C4.5+cf": 2.893, "C4.5+m+cf": 1.964,
    }  # fmt: skip
    assert list(found.ranks) == ["C4.5+m+cf", "C4.5+m", "C4.5+cf", "C4.5"]
    assert found.critical_difference == pytest.approx(2.569 * math.sqrt(4 * 5 / (6 * 14)), abs=2e-3)
    friedman = 12 * 14 / (4 * 5) * (sum(rank**2 for rank in found.ranks.values()) - 4 * 5**2 / 4)
    assert friedman == pytest.approx(9.28, abs=0.01)  # as in the paper


def test_only_blocks_of_all_strategies_are_ranked_and_equal_gains_share_ranks() -> None:
    found = rank_strategies({"a": {("p", 0): 1.0, ("p", 1): 1.0}, "b": {("p", 0): 1.0, ("q", 0): 5.0}})
    assert (found.blocks, found.ranks, found.critical_difference) == (1, {"a": 1.5, "b": 1.5}, None)
    assert "allows no test" in found.remark


def test_pairs_are_tested_with_all_signs() -> None:
    found = rank_strategies(
        {name: {("p", n): float(n + shift) for n in range(6)} for name, shift in (("a", 1), ("b", 0))}
    )
    (pair,) = found.pairs
    assert (pair.first, pair.second, pair.gain) == ("a", "b", 1.0)
    assert pair.p == pytest.approx(2 / 2**6)


def test_gains_count_in_the_direction_of_the_problem() -> None:
    summary = {"problem": "p", "search_seed": 3, "strategy": "gp", "model": "", "seed_score": 10.0, "best_score": 8.0}
    assert read_gains([{**summary, "direction": "minimize"}]) == {"gp": {("p", 3): 0.2}}
    assert read_gains([{**summary, "direction": "maximize", "model": "m"}]) == {"gp with m": {("p", 3): -0.2}}
    nothing = {**summary, "direction": "maximize", "best_score": None}
    assert read_gains([nothing, {**summary, "direction": "minimize"}]) == {"gp": {("p", 3): 0.2}}
    assert rank_strategies({}).ranks == {}
