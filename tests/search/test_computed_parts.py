"""Figures that strategies compute, against their formulas, enumeration and inverses."""

import itertools
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent.search.experiments import find_position, value_at
from oragent.search.prompting import prompt_templates
from oragent.search.prompting.prompt_templates import finished_share
from oragent.search.strategies.mcts_ahd import ProgramNode, select_leaf, update_values
from oragent.search.strategies.or_agent.allocation import (
    ActionKind,
    ActionRecord,
    deal_experiments,
    experiment_turns,
    gain_per_token,
)

ENDS = [(0.0, 10.0, False), (-5.0, 5.0, False), (1.0, 10_000.0, True), (0.001, 0.1, True)]


@pytest.mark.parametrize(("low", "high", "is_logarithmic"), ENDS)
@given(position=st.floats(0, 1))
def test_positions_and_values_of_a_range_are_inverse(
    low: float, high: float, is_logarithmic: bool, position: float
) -> None:
    value = value_at(position, low, high, is_logarithmic)
    assert low * (1 - 1e-12) - 1e-9 <= value <= high * (1 + 1e-12) + 1e-9
    assert find_position(value, low, high, is_logarithmic) == pytest.approx(position, abs=1e-9)


@pytest.mark.parametrize(
    ("value", "low", "high", "is_logarithmic", "position"),
    [
        (5.0, 0.0, 10.0, False, 0.5), (2.5, 0.0, 10.0, False, 0.25), (-1.0, 0.0, 10.0, False, 0.0),
        (11.0, 0.0, 10.0, False, 1.0), (10.0, 1.0, 100.0, True, 0.5), (1000.0, 1.0, 100.0, True, 1.0),
        (0.5, 1.0, 100.0, True, 0.0), (0.0, -4.0, 4.0, False, 0.5),
    ],
)  # fmt: skip
def test_positions_of_values(value: float, low: float, high: float, is_logarithmic: bool, position: float) -> None:
    assert find_position(value, low, high, is_logarithmic) == pytest.approx(position)


def test_a_value_in_the_middle_of_orders_of_magnitude_is_their_geometric_mean() -> None:
    assert value_at(0.5, 1.0, 100.0, True) == pytest.approx(10.0)
    assert value_at(0.5, 1.0, 100.0, False) == pytest.approx(50.5)


def record(programs: int, tokens: int, gain: float) -> ActionRecord:
    return ActionRecord(ActionKind.EDIT, programs, tokens, gain)


def test_the_cost_of_an_action_has_tokens_and_evaluations() -> None:
    an_evaluation = record(1, 0, 0.0).cost
    assert an_evaluation > 0
    assert record(3, 500, 0.0).cost == 500 + 3 * an_evaluation
    # An action without a program has run one all the same.
    assert record(0, 500, 0.0).cost == 500 + an_evaluation
    records = [record(3, 500, 2.0), record(1, 100, 1.0)]
    assert gain_per_token(records) == pytest.approx(3.0 / (600 + 4 * an_evaluation))
    assert gain_per_token([]) == 0.0


@pytest.mark.parametrize(
    "text",
    [
        "3",
        "[]",
        "{}",
        json.dumps({"action": "edit"}),
        '{"action": "edit", "programs": 1, "tokens": 2, "gain": 0.5, "more": 1}',
    ],
)
def test_a_damaged_note_of_an_action_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        ActionRecord.load(text)
    assert ActionRecord.load(record(3, 500, 0.25).dump()) == record(3, 500, 0.25)


@given(experiments=st.integers(0, 60))
def test_turns_hold_all_experiments(experiments: int) -> None:
    turns = experiment_turns(experiments)
    assert sum(turns) == experiments
    assert all(turn > 0 for turn in turns)
    # Every turn but the last has at least two per idea after the first.
    assert all(turn >= 2 for turn in turns[1:-1])


@given(gains=st.lists(st.sampled_from([0.0, 0.1, 0.2, 1.0]), min_size=1, max_size=6), each=st.integers(1, 6))
def test_experiments_are_dealt_by_gain_and_all_of_them(gains: list[float], each: int) -> None:
    dealt = deal_experiments(gains, each)
    assert sum(dealt) == each * len(gains)
    assert min(dealt) >= min(1, each)
    for (first, a), (second, b) in itertools.combinations(zip(gains, dealt, strict=True), 2):
        if first > second:
            assert a >= b - 1
        if first == second:
            assert 0 <= a - b <= 1


def share(**metrics: object) -> float | None:
    names = {
        name: getattr(prompt_templates, name) for name in ("INSTANCES", "PLANNED", "IN_STEP", "DECIDED", "DECISIONS")
    }
    return finished_share({names[name.upper()]: value for name, value in metrics.items()})


@pytest.mark.parametrize(
    ("metrics", "expected"),
    [
        ({"instances": 3, "planned": 12}, 0.25),
        ({"instances": 0, "planned": 4}, 0.0),
        # Four instances that advanced in step and decided a quarter count as one.
        ({"instances": 3, "planned": 16, "in_step": 4, "decided": 25, "decisions": 100}, 0.25),
        ({"instances": 3, "planned": 16, "in_step": 4, "decided": 25, "decisions": 0}, 3 / 16),
        ({"instances": 3, "planned": 16, "in_step": 4}, 3 / 16),
        ({"instances": 3, "planned": 0}, None),
        ({"instances": 3}, None),
        ({"instances": 3.0, "planned": 4}, None),
        ({"instances": True, "planned": 4}, None),
        ({}, None),
    ],
)
def test_the_share_of_finished_instances(metrics: dict[str, object], expected: float | None) -> None:
    assert share(**metrics) == (None if expected is None else pytest.approx(expected))


TREES = st.recursive(st.integers(-9, 9), lambda inner: st.lists(inner, min_size=1, max_size=3), max_leaves=9)


def grow(tree: object, parent: ProgramNode | None) -> ProgramNode:
    """A node with the value of a leaf, or children."""
    node = ProgramNode(None, parent, float(tree) if isinstance(tree, int) else -99.0)
    if isinstance(tree, list):
        node.children = [grow(part, node) for part in tree]
    return node


def leaves(tree: object) -> list[int]:
    return [tree] if isinstance(tree, int) else [value for part in tree for value in leaves(part)]


def count(tree: object) -> int:
    return 1 if isinstance(tree, int) else 1 + sum(map(count, tree))


@given(tree=st.lists(TREES, min_size=1, max_size=4))
def test_values_of_a_tree_are_those_of_its_best_leaves_and_visits_its_size(tree: list) -> None:
    root = grow(tree, None)
    below = [node for child in root.children for node in child.below()]
    order = sorted(below, key=lambda node: len(node.line()))
    update_values(root, order)

    def check(node: ProgramNode, part: object) -> None:
        assert node.value == max(leaves(part))
        assert node.visits == count(part) - (node is root)
        for child, inner in zip(node.children, part if isinstance(part, list) else [], strict=True):
            check(child, inner)

    check(root, tree)
    # Without exploration the way leads to the best leaf, as far as the depth allows.
    _, leaf = select_leaf(root, 0.0, min(leaves(tree)), max(leaves(tree)))
    assert leaf.value == max(leaves(tree))


def test_exploration_leads_to_the_child_with_the_largest_bound() -> None:
    root = grow([5, [4, 4, 4], 3], None)
    update_values(
        root, sorted((node for child in root.children for node in child.below()), key=lambda node: len(node.line()))
    )
    for weight in (0.0, 0.2, 1.0, 5.0):
        bounds = [
            (child.value - 3) / 2 + weight * math.sqrt(math.log(root.visits + 1) / child.visits)
            for child in root.children
        ]
        _, leaf = select_leaf(root, weight, 3.0, 5.0)
        assert root.children[bounds.index(max(bounds))] in (leaf, leaf.parent)
