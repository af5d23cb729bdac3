"""Edit distances of trees against all mappings, and what makes programs alike."""

import ast
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

import pytest
from hypothesis import example, given
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


def chain(size: int) -> PostorderTree:
    return PostorderTree(("a",) * size, (0,) * size)


def star(size: int) -> PostorderTree:
    return PostorderTree(("b",) * size, (*range(size - 1), 0))


def test_the_cost_of_a_comparison_counts_its_steps() -> None:
    """A chain is one path; each leaf of a star but the first begins a path of its own, beside the path of the root."""
    assert chain(6).keyroots == [5]
    assert star(4).keyroots == [1, 2, 3]
    assert similarity.comparison_steps(chain(6), chain(5)) == 6 * 5
    assert similarity.comparison_steps(chain(6), star(4)) == 6 * (2 + 4)
    assert similarity.comparison_steps(star(4), star(5)) == (2 + 4) * (3 + 5)


@pytest.mark.parametrize("size", [0, 1, 4])
def test_a_tree_is_as_far_from_none_as_it_has_nodes(size: int) -> None:
    assert tree_distance(chain(size), chain(0)) == tree_distance(chain(0), chain(size)) == size


@pytest.mark.parametrize(
    ("first", "second", "changes"),
    [
        ("1", "-2.5j", 1), ("1", "2.5", 0), ("1", "'a'", 1), ("'a'", "'b'", 0), ("b'a'", "2", 0), ("1", "True", 1),
        ("True", "False", 1), ("None", "False", 1), ("x", "y", 0), ("x", "1", 1), ("x.a", "x.b", 1), ("x.a", "y.a", 0),
        ("x + y", "x - y", 1), ("x * y", "y * z", 0), ("-x", "+x", 1), ("-x", "not x", 1), ("x and y", "x or y", 1),
        ("x < y", "x <= y", 1), ("x < y < z", "x < y > z", 1), ("[x]", "(x,)", 1), ("f(x)", "f(x, y)", 1),
        ("x[1]", "x[1:]", 1), ("lambda x: x", "lambda y: 1", 1),
    ],
)  # fmt: skip
def test_names_and_numbers_are_alike_and_operators_and_attributes_are_not(
    first: str, second: str, changes: int
) -> None:
    trees = [postorder_tree(ast.parse(text)) for text in (f"value = {first}", f"value = {second}")]
    assert tree_distance(*trees) == changes
    larger = max(len(tree.labels) for tree in trees)
    for pair in ((first, second), (second, first)):
        programs = [f"value = {text}" for text in pair]
        assert similarity.likeness(*programs) == pytest.approx(1 - changes / larger)


def test_nodes_are_labelled_from_the_leaves_to_the_root() -> None:
    tree = postorder_tree(ast.parse("y = f('a', 1) + x.z"))
    assert tree.labels == ("name", "name", "text", "number", "Call", "name", ".z", "BinOp Add", "Assign", "Module")
    assert tree.leftmost == (0, 1, 2, 3, 1, 5, 5, 1, 0, 0)
    assert tree.keyroots == [2, 3, 6, 7, 9]


def test_assignments_differ_by_their_operator_and_texts_without_effect_do_not_count() -> None:
    assert tree_distance(*(postorder_tree(ast.parse(text)) for text in ("x += 1", "y -= 2"))) == 1
    assert similarity.likeness("x = 1\n'a note'\nfrom math import pi\n", "x = 2") == 1.0
    assert similarity.likeness("x = 1\nf('a')", "x = 1\nf()") < 1.0
    assert similarity.likeness("x = 1\n2", "x = 1") < 1.0


def test_programs_without_a_common_part_have_no_likeness() -> None:
    assert similarity.likeness("-" * 30 + "x", "f(" + ", ".join("x" * 30) + ")") == 0.0
    assert similarity.likeness("", "") == similarity.likeness("{", "{") == 1.0


WORDS = st.lists(st.sampled_from("abc"), max_size=9)


def count_edits(first: Sequence[str], second: Sequence[str]) -> int:
    """The table of Wagner and Fischer 1974, row by row."""
    row = list(range(len(second) + 1))
    for number, word in enumerate(first, 1):
        above, row = row, [number]
        for column, other in enumerate(second):
            row.append(min(above[column + 1] + 1, row[column] + 1, above[column] + (word != other)))
    return row[-1]


@given(WORDS, WORDS)
def test_the_distance_of_tokens_is_that_of_the_table(first: list[str], second: list[str]) -> None:
    longer = max(len(first), len(second), 1)
    assert similarity.token_distance(first, second) == count_edits(first, second) / longer


@given(WORDS, st.lists(WORDS, max_size=5), st.sampled_from([0.0, 0.25, 0.5, 1.0]))
@example(list("ab"), [list("ac"), list("bb")], 0.75)
@example(list("ab"), [list("ac"), list("bb")], 0.5)
@example(list("abcd"), [list("dddd"), list("abdd"), list("abcc"), list("abca")], 1.0)
def test_the_nearest_is_the_first_of_the_least_distance_below_the_threshold(
    tokens: list[str], candidates: list[list[str]], threshold: float
) -> None:
    distances = [similarity.token_distance(tokens, candidate) for candidate in candidates]
    near = [distance for distance in distances if distance < threshold]
    wanted = distances.index(min(near)) if near else None
    assert similarity.find_nearest(tokens, candidates, threshold) == wanted


def test_candidates_are_compared_as_long_as_there_are_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = ["a"] * 128
    # A step is a word of 64 bits for each token of the shorter text, and there is the setup of each token.
    steps = 3 * (128 // 64 + similarity._SETUP) + 100 * (128 // 64 + similarity._SETUP)
    for limit, wanted in ((steps, 1), (steps - 1, None)):
        monkeypatch.setattr(similarity, "MAX_TOKEN_WORK", limit)
        assert similarity.find_nearest(tokens, [["a"] * 3, ["a"] * 100, tokens], 0.3) == wanted


@given(WORDS, WORDS, st.floats(0.0, 1.0))
def test_counts_of_tokens_exclude_no_text_that_is_near(first: list[str], second: list[str], threshold: float) -> None:
    counts = Counter(first), Counter(second)
    if similarity.token_distance(first, second) < threshold:
        assert similarity.may_be_near(*counts, threshold)


@pytest.mark.parametrize(
    ("first", "second", "threshold", "may_be"),
    [
        ("a", "b", 0.9, False), ("abcd", "efgh", 0.9, False), ("aaaa", "aaaabbbb", 0.4, False),
        ("aaaabbbb", "aaaa", 0.4, False), ("aaaa", "aaaabbbb", 0.6, True), ("abc", "cba", 0.1, True),
        ("aab", "aac", 0.3, False), ("aab", "aac", 0.4, True),
    ],
)  # fmt: skip
def test_counts_of_tokens_exclude_texts_that_differ_in_too_many(
    first: str, second: str, threshold: float, may_be: bool
) -> None:
    assert similarity.may_be_near(Counter(first), Counter(second), threshold) is may_be
