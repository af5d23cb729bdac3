import ast
import re
import time
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.errors import CandidateError
from oragent.evaluation.problem import Primitive
from oragent.programs.syntax import canonical_form, check_program, count_nodes, read_signature
from oragent.search.genetics import draft as drafts
from oragent.search.genetics import growth
from oragent.search.genetics.variation import MAX_NODES, OPERATORS, room, vary

EDGES = '''import numpy as np

def heuristics(distance_matrix: np.ndarray) -> np.ndarray:
    """Promise of every edge.

    Args:
        distance_matrix: ``(n, n)`` distances.
    """
    return 1 / distance_matrix
'''
BINS = '''import numpy as np

def priority(item: float, bins_remain_cap: np.ndarray) -> np.ndarray:
    """Priority of every bin."""
    return -(bins_remain_cap - item)
'''
NEAREST = '''import numpy as np

def select_next_node(
    current_node: int, destination_node: int, unvisited_nodes: set[int], distance_matrix: np.ndarray
) -> int:
    """The next node of the tour."""
    return min(unvisited_nodes, key=lambda node: distance_matrix[current_node, node])
'''
NEAREST_ARRAY = '''import numpy as np

def select_next_node(
    current_node: int, destination_node: int, unvisited_nodes: set[int], distance_matrix: np.ndarray
) -> int:
    """The next node of the tour."""
    nodes = np.array(sorted(unvisited_nodes))
    scores = distance_matrix[current_node, nodes]
    return int(nodes[np.argmin(scores)])
'''
NEAREST_LOOP = '''def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    """The next node of the tour."""
    best, best_score = None, float("inf")
    for node in unvisited_nodes:
        score = distance_matrix[current_node, node]
        if score < best_score:
            best_score = score
            best = node
    return best
'''
EDGE_PRIMITIVES = (
    "distance_matrix",
    "1 / distance_matrix",
    "distance_matrix.mean(axis=1, keepdims=True)",
    "np.argsort(np.argsort(distance_matrix, axis=1), axis=1)",
)
BIN_PRIMITIVES = ("item", "bins_remain_cap", "bins_remain_cap - item", "item / bins_remain_cap")
NODE_PRIMITIVES = (
    "distance_matrix[node, destination_node]",
    "np.mean([distance_matrix[node, other] for other in unvisited_nodes])",
    "np.std(distance_matrix[node])",
)


ROW_PRIMITIVES = (
    "distance_matrix[destination_node, sorted(unvisited_nodes)]",
    "np.mean(distance_matrix[sorted(unvisited_nodes)], axis=1)",
    "len(unvisited_nodes) / len(distance_matrix)",
)


def distances(n: int = 8) -> np.ndarray:
    points = np.random.default_rng(n).random((n, 2))
    matrix = np.sqrt(((points[:, None] - points[None]) ** 2).sum(-1))
    np.fill_diagonal(matrix, 1)
    return matrix


def run_edges(function):
    matrix = distances()
    result = function(matrix.copy())
    assert result.shape == matrix.shape
    assert np.isfinite(result).all()


def run_bins(function):
    for item in (37.0, 12.0):
        capacities = np.array([capacity for capacity in (100, 63, 37, 90, 41, 55) if capacity >= item])
        result = function(item, capacities.copy())
        assert result.shape == capacities.shape
        assert np.isfinite(result).all()


def run_nearest(function):
    matrix, current, unvisited = distances(), 0, set(range(1, 8))
    while unvisited:
        current = function(
            current_node=current,
            destination_node=0,
            unvisited_nodes=unvisited.copy(),
            distance_matrix=matrix.copy(),
        )
        unvisited.remove(current)


SEEDS = {
    "edges": (EDGES, "heuristics", EDGE_PRIMITIVES, run_edges),
    "bins": (BINS, "priority", BIN_PRIMITIVES, run_bins),
    "nearest": (NEAREST, "select_next_node", NODE_PRIMITIVES, run_nearest),
    "array": (NEAREST_ARRAY, "select_next_node", ROW_PRIMITIVES, run_nearest),
    "loop": (NEAREST_LOOP, "select_next_node", NODE_PRIMITIVES, run_nearest),
}


def runs(source, function, run):
    space = {}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(source, "candidate.py", "exec"), space)
            run(space[function])
    except Exception:
        return False
    return True


def walk(seed, function, primitives, run, steps, rng):
    """Breed from a small population without selection but validity; yield every parent, child and whether it runs."""
    population = [seed]
    for _ in range(steps):
        parent, mate = (population[int(rng.integers(len(population)))] for _ in range(2))
        child = vary(parent, mate, function=function, primitives=primitives, rng=rng)
        valid = runs(child.source, function, run)
        yield parent, child, valid
        if valid:
            population = [*population, child.source][-15:]


@pytest.mark.slow
@pytest.mark.parametrize("name", SEEDS)
def test_children_over_generations_keep_the_contract_and_nine_in_ten_run(name):
    seed, function, primitives, run = SEEDS[name]
    wanted, docstring = read_signature(seed, function), ast.get_docstring(ast.parse(seed).body[-1])
    operators, valid, total = set(), 0, 120
    for parent, child, runs_well in walk(seed, function, primitives, run, total, np.random.default_rng(5)):
        check_program(child.source, wanted)
        assert read_signature(child.source, function) == wanted
        assert ast.get_docstring(ast.parse(child.source).body[-1]) == docstring
        assert canonical_form(child.source, function) != canonical_form(parent, function)
        assert count_nodes(child.source) <= MAX_NODES
        operators |= set(child.operator.split("+"))
        valid += runs_well
    assert valid >= 0.9 * total
    assert operators == set(OPERATORS)


@pytest.mark.slow
@pytest.mark.parametrize("name", SEEDS)
def test_nineteen_in_twenty_children_of_a_seed_run(name):
    seed, function, primitives, run = SEEDS[name]
    rng = np.random.default_rng(6)
    children = [vary(seed, None, function=function, primitives=primitives, rng=rng).source for _ in range(100)]
    assert sum(runs(child, function, run) for child in children) >= 95
    assert len({canonical_form(child, function) for child in children}) >= 30


@given(st.sampled_from(sorted(SEEDS)), st.integers(0, 2**32))
def test_the_same_generator_breeds_the_same_child(name, seed):
    parent, function, primitives, _ = SEEDS[name]
    mate = vary(parent, None, function=function, primitives=primitives, rng=np.random.default_rng(seed + 1)).source
    bred = [
        vary(parent, mate, function=function, primitives=primitives, rng=np.random.default_rng(seed)) for _ in range(2)
    ]
    assert bred[0] == bred[1]
    assert all(part in OPERATORS for part in bred[0].operator.split("+"))


def test_a_steep_power_of_the_inverse_distance_is_found_within_a_hundred_children_of_the_seed():
    seed, function, primitives, _ = SEEDS["edges"]
    matrix, rng = distances(), np.random.default_rng(2)
    found = set()
    for _ in range(100):
        child = vary(seed, None, function=function, primitives=primitives, rng=rng).source
        space = {}
        exec(child, space)
        with np.errstate(all="ignore"):
            result = space[function](matrix)
        found |= {power for power in (2, 3, 4) if np.allclose(result, matrix ** -float(power))}
    assert found == {2, 3, 4}


def test_breeding_is_fast():
    seed, function, primitives, _ = SEEDS["edges"]
    rng = np.random.default_rng(3)
    begun = time.process_time()
    for _ in range(100):
        vary(seed, seed, function=function, primitives=primitives, rng=rng)
    assert time.process_time() - begun < 1  # some 0.07 s on a quiet machine


def test_a_program_without_imports_gets_the_one_that_it_comes_to_need():
    source = '"""Seed."""\nfrom __future__ import annotations\ndef heuristics(distance_matrix):\n    return 1 / distance_matrix\n'
    rng = np.random.default_rng(0)
    children = [
        vary(source, None, function="heuristics", primitives=EDGE_PRIMITIVES, rng=rng).source for _ in range(40)
    ]
    needy = [child for child in children if "np." in child]
    assert needy
    assert all(child.count("import numpy as np") == ("np." in child) for child in children)
    assert all(runs(child, "heuristics", run_edges) for child in needy)


def test_a_program_in_torch_is_varied_in_torch():
    source = (
        "import torch\ndef heuristics(distances: torch.Tensor) -> torch.Tensor:\n    return -torch.log(distances)\n"
    )
    rng = np.random.default_rng(0)
    children = [vary(source, None, function="heuristics", primitives=["distances"], rng=rng).source for _ in range(60)]
    assert not any("np." in child for child in children)
    assert sum("torch." in child for child in children) > 30


def test_a_primitive_is_only_used_where_its_names_are_bound():
    rng = np.random.default_rng(4)
    for _ in range(60):
        child = vary(EDGES, None, function="heuristics", primitives=["elsewhere * 2", "not ( python"], rng=rng)
        assert "elsewhere" not in child.source


def test_a_large_parent_never_grows():
    terms = " + ".join(f"{number}.5 * distance_matrix ** {number}" for number in range(1, 40))
    source = EDGES.replace("1 / distance_matrix", terms)
    assert count_nodes(source) > MAX_NODES
    rng = np.random.default_rng(1)
    for _ in range(20):
        child = vary(source, EDGES, function="heuristics", primitives=EDGE_PRIMITIVES, rng=rng)
        assert count_nodes(child.source) <= count_nodes(source)


def test_variables_that_nothing_reads_are_dropped_unless_computing_them_may_do_something():
    source = EDGES.replace("    return", "    idle = np.mean(distance_matrix)\n    kept = print(end='')\n    return")
    child = vary(source, None, function="heuristics", primitives=EDGE_PRIMITIVES, rng=np.random.default_rng(0))
    assert "idle" not in child.source
    assert "kept = print" in child.source


def test_a_parent_that_does_not_parse_is_refused():
    with pytest.raises(CandidateError):
        vary("def f(:", None, function="f", primitives=[], rng=np.random.default_rng(0))


# --- what a model may have written -----------------------------------------------------------------------------------

STRANGE = [
    "def f(x):\n    pass\n",
    "def f(x):\n    raise NotImplementedError\n",
    "def f(x):\n    return None\n",
    "def f(x):\n    return x\n",
    "def f(x):\n    return [{'id': v['id'], 'speed': 0.5 * v['speed'] + 1.0} for v in x]\n",
    "def f(x):\n    match x:\n        case [a, *b]:\n            return a\n        case {'k': k, **rest}:\n            return k\n",
    "def f(x):\n    try:\n        return 1 / x\n    except* ValueError as group:\n        y = 2\n    return y\n",
    "def f(x):\n    with open('a') as g, open('b'):\n        y = x * 2.0\n    return y\n",
    "def f(x):\n    while True:\n        x = x * 0.5\n        if x < 1:\n            break\n    return x\n",
    "def f(x):\n    def g(a, *b, c=1, **d):\n        return a * 2.0 + c\n    return g(x)\n",
    "class Model:\n    rate: float = 0.3\n    def score(self, v):\n        return self.rate * v ** 2\n"
    "def f(x):\n    return Model().score(x)\n",
    "import random\nrng = random.Random(1)\n@staticmethod\ndef helper(z):\n    return z ** 0.5\n"
    "def f(x):\n    return helper(x) + rng.random()\n",
    "def f(x):\n    y = x\n    y = y + 1\n    y *= 2\n    del x\n    return y\n",
    "def f(x):\n    global total\n    total = x * 2.0\n    return total\n",
    "def f(x):\n    yield x * 2.0\n",
    "async def g():\n    return 1\ndef f(x):\n    return lambda y: x * y + 0.1\n",
    "def f(x):\n    return x @ x.T - (x[0, ::2] if x.any() else x[..., None]) ** 2\n",
    "def f(x):\n    a, (b, *c) = x\n    return f'{a:{b}}' * 2 + (yield_ := a * 1.5)\n",
    "def f(x=(1, 2), *, k={}):\n    return {**k, 'a': x[0] * 2.0}, {1.5 * i for i in x}\n",
    "def f(x):\n    return 1.0 if x else -2.5e-300 * 10 ** 300\n",
    "def f(x):\n    x = x + x\n    y = y * 2.0\n    return y\n",
    "def f(x):\n    return 1e400 * x + 0 * x\n",
    "def f(x):\n    return x\ndef f(x):\n    return x * 2\n",
    "import torch\nfrom numpy import *\ndef f(x):\n    return torch.exp(x) / x.mean()\n",
    "def f(x):\n    return -" + "(" * 30 + "x * 2.0" + ")" * 30 + "\n",
    "def f(x):\n    return x" + " + x" * 90 + "\n",
]


@pytest.mark.slow
@pytest.mark.parametrize("source", STRANGE)
def test_any_valid_program_has_children(source):
    wanted, rng = read_signature(source, "f"), np.random.default_rng(8)
    for mate in (None, BINS, *STRANGE[:12]):
        child = vary(source, mate, function="f", primitives=["x", "np.abs(x)"], rng=rng)
        check_program(child.source, wanted)
        assert canonical_form(child.source, "f") != canonical_form(source, "f")
        assert re.fullmatch(r"[a-z]+(\+[a-z]+){0,2}", child.operator)


# --- each operator by itself -----------------------------------------------------------------------------------------


def bodies(operator, body, *, primitives=(), mate=None, parameters="d: np.ndarray", tries=40):
    """Apply one operator to a function with that body, in many ways: the set of the bodies that come out."""
    found = set()
    for seed in range(tries):
        source = f"import numpy as np\ndef f({parameters}):\n    {body}\n"
        other = None if mate is None else f"import numpy as np\ndef f({parameters}):\n    {mate}\n"
        draft = drafts.Draft(ast.parse(source), "f", primitives, other, np.random.default_rng(seed))
        draft.look()
        if operator(draft):
            function = draft.tree.body[-1]
            found.add("; ".join(ast.unparse(ast.fix_missing_locations(line)) for line in function.body))
    return found


def test_jitter_moves_one_constant_and_keeps_it_short():
    found = bodies(drafts.jitter_constant, "return np.exp(-2.5 * d) + 0.1")
    assert len(found) > 20
    for text in found:
        first, second = map(
            float, re.fullmatch(r"return np\.exp\((-.*) \* d\) \+ (.*)", text.replace("--", "")).groups()
        )
        assert (first == -2.5) != (second == 0.1) or first == 2.5
        assert max(len(repr(abs(first))), len(repr(abs(second)))) <= 7


def test_jitter_spares_axes_subscripts_ranges_and_a_factor_of_the_result():
    body = "return 3 * sum((d[i, 1:4].mean(axis=0, keepdims=True) for i in range(2))) ** 5.0"
    found = bodies(drafts.jitter_constant, body)
    assert found
    assert all(re.fullmatch(re.escape(body).replace(r"5\.0", r"[\d.]+"), text) for text in found)


def test_jitter_spares_what_keeps_from_zero_or_stands_for_infinity_and_single_values():
    body = "return np.where(d == 0, 100000.0, d / (d.max() + 1e-09)) ** 5.0"
    found = bodies(drafts.jitter_constant, body)
    assert found
    assert all(re.fullmatch(re.escape(body).replace(r"5\.0", r"[\d.]+"), text) for text in found)
    assert not bodies(drafts.jitter_constant, body.replace(" ** 5.0", ""))


def test_jitter_spares_integers_that_are_codes_but_not_the_size_of_a_half():
    assert not bodies(drafts.jitter_constant, "return [1 if u else -1 if v else 0 for u, v in d]")
    found = bodies(drafts.jitter_constant, "m, n = d.shape; cut = n // 4; return np.concatenate([d[:cut], d[cut:]])")
    assert {re.search(r"n // (.*?);", text)[1] for text in found} == {"3", "5"}


def test_jitter_steps_a_size_by_whole_numbers_and_keeps_it_positive():
    found = bodies(drafts.jitter_constant, "k = 10; return np.sort(d)[:k]")
    sizes = {int(re.search(r"k = (\d+);", text)[1]) for text in found}
    assert len(sizes) > 2
    assert sizes <= set(range(1, 20))
    assert bodies(drafts.jitter_constant, "k = 1; return np.sort(d)[:k]") <= {
        f"k = {size}; return np.sort(d)[:k]" for size in (1, 2)
    }


def test_operators_are_swapped_within_their_families():
    assert bodies(drafts.swap_operator, "return d + 1") == {"return d - 1", "return d * 1"}
    assert bodies(drafts.swap_operator, "return d * d") == {"return d + d", "return d - d", "return d / d"}
    assert bodies(drafts.swap_operator, "return np.where(d < 1, d, 0)") == {
        f"return np.where(d {order} 1, d, 0)" for order in ("<=", ">", ">=")
    }


def test_functions_are_swapped_within_their_families_and_domains():
    assert bodies(drafts.swap_function, "return d / np.mean(d, axis=1)") == {
        f"return d / np.{name}(d, axis=1)" for name in ("median", "max", "min", "std")
    }
    assert bodies(drafts.swap_function, "return np.sqrt(d)") == {
        f"return np.{name}(d)" for name in ("log1p", "tanh", "square", "abs")
    }
    assert bodies(drafts.swap_function, "return np.tanh(d - 1)") == {
        f"return np.{name}(d - 1)" for name in ("square", "abs")
    }
    assert bodies(drafts.swap_function, "return d.mean()") == {f"return d.{name}()" for name in ("max", "min", "std")}


def test_shrinking_drops_a_call_a_side_or_an_update_and_never_leaves_a_constant():
    assert bodies(drafts.shrink_program, "return np.sqrt(d)") == {"return d"}
    assert bodies(drafts.shrink_program, "return 1 / d ** 2") == {"return d ** 2", "return 1 / d"}
    assert bodies(drafts.shrink_program, "return np.where(d < 1, d, 2 * d)") == {
        "return d",
        "return 2 * d",
        "return np.where(d < 1, d, d)",
    }
    assert "s = d; return s" in bodies(drafts.shrink_program, "s = d; s *= 2; return s")
    assert bodies(drafts.shrink_program, "return np.log(np.where(d == 0, 1.0, d))") == {
        "return np.where(d == 0, 1.0, d)"
    }


def test_wrapping_raises_to_powers_and_leaves_negative_numbers_defined():
    assert {"return d ** 0.5", "return d ** 4", "return np.log1p(d)"} <= bodies(
        growth.wrap_expression, "return d", tries=300
    )
    for text in bodies(growth.wrap_expression, "return d - 1", tries=100):
        with np.errstate(all="raise"):
            space = {"np": np}
            exec(f"def f(d): {text}", space)
            assert np.isfinite(space["f"](np.array([[0.0, 0.5], [2.0, 3.0]]))).all()


def test_a_power_is_not_raised_to_a_power_but_made_steeper():
    found = bodies(growth.wrap_expression, "return d ** 3", tries=100)
    assert {"return d ** 1.5", "return d ** 4.5", "return d ** 6.0", "return d ** 9.0"} <= found
    assert not any("** 3) **" in text for text in found)


def test_what_is_only_compared_is_not_wrapped_as_a_whole():
    body = "return min(x, key=lambda node: d[node])"
    assert not bodies(growth.wrap_expression, body, parameters="x, d")


def test_inserting_combines_the_result_with_a_primitive_in_place_or_as_a_statement():
    found = bodies(growth.insert_primitive, "return 1 / d", primitives=["np.sqrt(d)"], tries=200)
    assert "return 1 / d * np.sqrt(d) ** 2" in found
    assert any(re.fullmatch(r"return 1 / d \+ [\d.]+ \* np\.sqrt\(d\)", text) for text in found)
    assert "term = np.sqrt(d); return 1 / d * term ** 2" in found


def test_inserting_combines_what_a_tensor_method_returns_but_not_the_values_that_it_is_given():
    body = "near = d.topk(9).indices; return d.scatter(1, near, -np.log(d.gather(1, near)))"
    found = bodies(growth.insert_primitive, body, primitives=["np.sqrt(d)"], tries=200)
    head = re.escape(body)
    assert any(re.fullmatch(head + r" \+ [\d.]+ \* np\.sqrt\(d\)", text) for text in found)
    assert all("-np.log(d.gather(1, near))" in text for text in found)


def test_replacing_keeps_arrays_arrays_and_divides_by_nothing_that_may_be_zero():
    found = bodies(growth.replace_expression, "return 1 / d", primitives=["d - 1", "d.mean()"])
    assert found == {"return 1 / (abs(d - 1) + 0.001)"}


def test_grafting_brings_the_mates_expression_with_its_variables_written_out():
    mate = "a = np.log1p(d); b = a * 2.5; return b + 1"
    found = bodies(growth.graft_expression, "return np.sqrt(d) / 7", mate=mate, tries=200)
    assert "return np.sqrt(np.log1p(d) * 2.5) / 7" in found
    assert not any(re.search(r"\b[ab]\b", text) for text in found)


def test_grafting_takes_no_expression_whose_names_are_not_bound():
    mate = "return sum(d[i] * 2.0 for i in range(3)) + unknown * 1.5"
    assert not any("unknown" in text for text in bodies(growth.graft_expression, "return np.sqrt(d)", mate=mate))


def test_growth_has_to_pay_for_itself():
    def summed(terms):
        return "def guess(x):\n    return " + " + ".join(f"x * {number}.5" for number in range(terms)) + "\n"

    seed, some, many = summed(1), summed(15), summed(40)
    assert (room(seed), room(seed, seed)) == (200, 100)
    assert 100 < room(seed, some) == round(1.5 * count_nodes(some)) < 200
    assert room(seed, many) == 200
    assert room(many, seed) == room(many, many) == 2 * count_nodes(many) > 200


@pytest.mark.slow
def test_a_type_tells_where_a_primitive_fits_and_what_may_be_done_with_it():
    """What reading cannot tell: a call of the seed's own helper, which comes to an array that is never negative."""
    seed = "def near(d):\n    return d.min(axis=1)\n\n\ndef f(d):\n    return np.sqrt(d) + d.max()\n"
    wanted = {"plain": "near(d)", "typed": Primitive.make("near(d)", "nonnegative array")}
    made = {
        name: [
            vary(seed, None, function="f", primitives=[text], rng=np.random.default_rng(number)).source
            for number in range(150)
        ]
        for name, text in wanted.items()
    }
    used = {name: [source for source in sources if source.count("near(d)") > 1] for name, sources in made.items()}
    powers = {name: sum("np.exp(-" in source for source in sources) for name, sources in used.items()}
    assert powers["typed"] > powers["plain"]  # as forms for arrays that are never negative are open to it
    scalar = [
        vary(
            seed,
            None,
            function="f",
            primitives=[Primitive.make("near(d)", "number")],
            rng=np.random.default_rng(number),
        )
        for number in range(60)
    ]
    assert not any("np.mean(near(d))" in child.source for child in scalar)  # a number has no mean
