"""Edit distances of trees against all mappings, and what makes programs alike."""

import ast
from functools import lru_cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent.programs import parser_client, similarity
from oragent.programs.similarity import PostorderTree, postorder_tree, tree_distance

Nested = tuple[str, tuple]  # a label, and children

LEAVES = st.builds(lambda label: (label, ()), st.sampled_from("abc"))
TREES = st.recursive(
    LEAVES, lambda inner: st.tuples(st.sampled_from("abc"), st.lists(inner, max_size=3).map(tuple)), max_leaves=6
)


def postorder(nested: Nested) -> PostorderTree:
    labels: list[str] = []
    leftmost: list[int] = []

    def add(node: Nested) -> int:
        label, children = node
        leaves = [add(child) for child in children]
        leftmost.append(leaves[0] if leaves else len(labels))
        labels.append(label)
        return leftmost[-1]

    add(nested)
    return PostorderTree(tuple(labels), tuple(leftmost))


def size(forest: tuple[Nested, ...]) -> int:
    return sum(1 + size(children) for _, children in forest)


@lru_cache(None)
def slowly(first: tuple[Nested, ...], second: tuple[Nested, ...]) -> int:
    """The distance of two forests by its definition: the last root goes, comes, or becomes the other one."""
    if not first or not second:
        return size(first) + size(second)
    (*rest, (label, below)), (*others, (other, under)) = first, second
    return min(
        slowly((*rest, *below), second) + 1,
        slowly(first, (*others, *under)) + 1,
        slowly(tuple(rest), tuple(others)) + slowly(below, under) + (label != other),
    )


@given(TREES, TREES)
def test_the_distance_is_that_of_its_definition(first: Nested, second: Nested) -> None:
    assert tree_distance(postorder(first), postorder(second)) == slowly((first,), (second,))


PROGRAM = "def guess(x):\n    total = 0.0\n    for step in range(3):\n        total += x * step\n    return total\n"


def test_names_numbers_comments_docstrings_and_imports_make_no_difference() -> None:
    other = 'import math\ndef guess(y):\n    """Guess."""\n    s = 1.5\n    for i in range(7):  # steps\n        s += y * i\n    return s\n'
    assert similarity.likeness(PROGRAM, other) == 1.0


def test_what_a_program_does_makes_a_difference_in_proportion() -> None:
    near = similarity.likeness(PROGRAM, PROGRAM.replace("x * step", "x / step"))
    far = similarity.likeness(PROGRAM, "def guess(x):\n    return x\n")
    nodes = len(postorder_tree(ast.parse(PROGRAM)).labels)
    assert near == pytest.approx(1 - 1 / nodes)
    assert far < 0.5 < near < 1.0


def test_a_text_that_is_no_python_and_one_that_takes_too_long_are_compared_by_their_words(monkeypatch) -> None:
    assert similarity.likeness("int f(int x) { return 1; }", "int f(int x) { return 2; }") == pytest.approx(1 - 1 / 11)
    monkeypatch.setattr(similarity, "MAX_WORK", 10)
    assert similarity.likeness(PROGRAM, PROGRAM.replace("total", "sum")) < 1.0


def test_it_is_told_by_the_child() -> None:
    assert parser_client.request("likeness", first=PROGRAM, second=PROGRAM) == {"share": 1.0}


def test_a_comparison_of_large_trees_takes_tokens_in_their_place() -> None:
    large = "\n".join(f"x{number} = {number} + y * (z - {number})" for number in range(60))
    other = large.replace("+", "-")
    trees = [similarity.postorder_tree(ast.parse(text)) for text in (large, other)]
    assert similarity.comparison_steps(*trees) > similarity.MAX_WORK
    tokens = [similarity.TOKEN.findall(text)[: similarity.MAX_TOKENS] for text in (large, other)]
    assert similarity.likeness(large, other) == 1.0 - similarity.token_distance(*tokens)
