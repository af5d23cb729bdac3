"""Variation of the ``gp`` strategy: children of one or two programs by changes of their syntax trees.

Only the text of a program is used. If a candidate has several functions, one of them is varied.
"""

import ast
import builtins
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from oragent._base.ast_utils import all_nodes, bound_names, tree_of
from oragent._base.errors import CandidateError
from oragent.evaluation.problem import Problem
from oragent.programs.inspection import fit_to_frame, mark_safe, parse_expression, program_length
from oragent.programs.inspection import parse_tree as parsed
from oragent.programs.layout import write_program
from oragent.programs.multi_file import join_files, split_files
from oragent.programs.syntax import Signature, canonical_form
from oragent.search.genetics.branches import change_inside
from oragent.search.genetics.draft import (
    MODULES,
    Draft,
    build_expression,
    free_names,
    jitter_constant,
    shrink_program,
    swap_function,
    swap_operator,
)
from oragent.search.genetics.expressions import numeric_call
from oragent.search.genetics.growth import (
    graft_expression,
    insert_primitive,
    replace_expression,
    wrap_at,
    wrap_expression,
)
from oragent.search.genetics.sites import find_sites

MAX_NODES = 200
# Every program may have this many nodes; longer ones at most this multiple of the best program's nodes.
FREE_NODES, PAID = 100, 1.5
TRIES = 24
# Results with a place around them for an expression.
ARITHMETIC = ast.BinOp | ast.UnaryOp | ast.Call | ast.Subscript

# Operators with their weights.
_STEPS: dict[str, tuple[Callable[[Draft], bool], float]] = {
    "constant": (jitter_constant, 3.0),
    "operator": (swap_operator, 0.5),
    "function": (swap_function, 0.8),
    "wrap": (wrap_expression, 3.0),
    "insert": (insert_primitive, 3.0),
    "graft": (graft_expression, 2.0),
    "replace": (replace_expression, 0.7),
    "delete": (shrink_program, 1.0),
}
OPERATORS = tuple(_STEPS)
# Expressions that may have side effects.
_ACTING = ast.Call | ast.NamedExpr | ast.Await | ast.Yield | ast.YieldFrom


@dataclass(frozen=True)
class Offspring:
    """Child program, and the operators that made it, in order and joined by ``+``."""

    source: str
    operator: str


@lru_cache(maxsize=16)
def room(seed: str, best: str | None = None) -> int:
    """Return the maximum number of nodes of descendants of a seed. A long seed allows twice its own nodes.

    If the best program so far is known, programs above ``FREE_NODES`` may have at most 1.5 times its nodes. The limit
    therefore rises only when a longer program becomes the best, as with the dynamic limits of Silva & Costa 2009
    (doi:10.1007/s10710-008-9075-9).
    """
    bound, begin = max(MAX_NODES, 2 * program_length(seed)), 2 * program_length(seed)
    if best is None:
        return bound
    return min(bound, max(FREE_NODES, begin, round(PAID * program_length(best))))


def vary(
    parent: str,
    mate: str | None,
    *,
    function: str,
    primitives: Sequence[str],
    rng: np.random.Generator,
    most: int = MAX_NODES,
) -> Offspring:
    """Breed a child that differs from ``parent`` in canonical form. Signature, docstring and imports stay.

    One operator is applied, sometimes two or three. No program is run: kinds and shapes of expressions are inferred
    from the text, so most children run without an error, but not all. Unused variables and comments are dropped. A
    sub-expression may come from ``mate``. ``primitives`` are expressions over the parameters of the function; they can
    be combined element by element with its return value. A child has at most ``most`` nodes, unless its parent has
    more. Near the limit, shrinking operators are more likely.

    Raises:
        CandidateError: ``parent`` or ``mate`` does not parse.
    """
    original = _analyse_parent(parent, function)
    limit = max(most, original.size)
    for _ in range(TRIES):
        draft = Draft(tree_of(original.source), function, primitives, mate, rng)
        if original.has_no_place and (name := change_inside(draft)):
            if source := _finish_draft(draft.tree, original, limit):
                return Offspring(source, name)
            continue
        steps = min(3, int(rng.geometric(0.8)))
        names = [name for _ in range(steps) if (name := _apply_operator(draft, original.size / most))]
        source = _finish_draft(draft.tree, original, limit) if names else ""
        if source:
            return Offspring(source, "+".join(names))
    return _last_resort(original, primitives, rng)


def _has_no_place(tree: ast.Module, function: str) -> bool:
    """Return True if a program has no numeric expression inside, and its result is a list or a variable.

    The result may be no number, so arithmetic around it would fail.
    """
    sites = find_sites(tree, function)
    is_bare = all(site.context.root and not isinstance(site.node, ARITHMETIC) for site in sites.numbers)
    return is_bare and not sites.constants


@dataclass(frozen=True)
class _Given:
    """Parent without unused variables, and the canonical forms that its children must not have."""

    source: str
    function: str
    size: int
    known: tuple[str, ...]
    # Whether it has no place for an expression.
    has_no_place: bool


@lru_cache(maxsize=256)
def _analyse_parent(parent: str, function: str) -> _Given:
    tree = parsed(parent)
    canonical_forms = [canonical_form(parent, function)]
    source = parent
    if _prune_unread(tree):
        source = write_program(tree)
        mark_safe(source)
        canonical_forms.append(canonical_form(source, function))
    has_no_place = _has_no_place(tree_of(source), function)
    return _Given(source, function, program_length(source), tuple(canonical_forms), has_no_place)


def _apply_operator(draft: Draft, fullness: float) -> str:
    """Apply one operator that finds a place, and return its name. For large programs, shrinking is more likely."""
    draft.look()
    names = list(_STEPS)
    weights = [weight * (1 + 16 * fullness**2 * (name == "delete")) for name, (_, weight) in _STEPS.items()]
    while names:
        name = draft.weighted(names, weights)
        if _STEPS[name][0](draft):
            return name
        weights.pop(names.index(name))
        names.remove(name)
    return ""


def _finish_draft(tree: ast.Module, original: _Given, limit: int) -> str:
    """Return the text of a draft; empty if it is not new, too long, or uses an unbound name."""
    _prune_unread(tree)
    _import_missing(tree)
    if len(all_nodes(tree)) > limit or _unbound_names(tree):
        return ""
    source = write_program(tree)
    try:
        is_known = canonical_form(source, original.function) in original.known
    except CandidateError:
        # The program is nested too deeply.
        return ""
    # The text is safe to parse: it comes from checked programs, and operators add only a few nodes.
    mark_safe(source)
    if is_known:
        return ""
    return source


def _last_resort(original: _Given, primitives: Sequence[str], rng: np.random.Generator) -> Offspring:
    """Wrap the return value. This is used if no operator found a place, or all children equalled earlier programs."""
    draft = Draft(tree_of(original.source), original.function, primitives, None, rng)
    draft.look()
    results = [site for site in draft.sites.numbers if site.context.root]
    if results:
        wrap_at(draft, draft.pick(results))
        source = _finish_draft(draft.tree, original, 2 * MAX_NODES + original.size)
        if source:
            return Offspring(source, "wrap")
    tree = tree_of(original.source)
    unit = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == original.function][-1]
    factor = build_expression(str(draft.number(1, 0.5)))
    returns = [node for node in all_nodes(unit) if isinstance(node, ast.Return) and node.value]
    for node in returns:
        assert node.value is not None
        # Several results: a tuple cannot be multiplied, so one of them is.
        if isinstance(node.value, ast.Tuple) and node.value.elts:
            parts = node.value.elts
            at = int(rng.integers(len(parts)))
            parts[at] = build_expression("{e} * {c}", e=parts[at], c=factor)
        else:
            node.value = build_expression("{e} * {c}", e=node.value, c=factor)
    if not returns:
        unit.body.append(ast.Return(factor))
    source = write_program(tree)
    mark_safe(source)
    return Offspring(source, "wrap")


def _prune_unread(tree: ast.Module) -> bool:
    """Drop assignments to unused variables in place, unless that could change the behaviour of the program."""
    pruned = False
    for unit in tree.body:
        while isinstance(unit, ast.FunctionDef) and _drop_idle(unit):
            pruned = True
    return pruned


def _drop_idle(unit: ast.FunctionDef) -> bool:
    parts = all_nodes(unit)
    read_names = {node.id for node in parts if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    read_names |= {name for node in parts if isinstance(node, ast.Global | ast.Nonlocal) for name in node.names}
    dropped = False
    for node in parts:
        block = getattr(node, "body", None)
        if isinstance(block, list) and not isinstance(node, ast.ClassDef):
            remaining = [statement for statement in block if not _is_idle(statement, read_names)]
            dropped = dropped or len(remaining) < len(block)
            block[:] = remaining or [ast.Pass()]
    return dropped


def _is_idle(statement: ast.stmt, read_names: set[str]) -> bool:
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if name not in read_names:
            return all(
                isinstance(node, ast.Call) and numeric_call(node)
                for node in all_nodes(value)
                if isinstance(node, _ACTING)
            )
        case _:
            return False


def _import_missing(tree: ast.Module) -> None:
    bound = _all_bound_names(tree)
    used = {node.id for node in all_nodes(tree) if isinstance(node, ast.Name)}
    for name, module in MODULES.items():
        if name in used and name not in bound:
            alias = ast.alias(module, None if name == module else name)
            position = next((number for number, node in enumerate(tree.body) if not _is_header(node)), len(tree.body))
            tree.body.insert(position, ast.Import([alias]))


def _is_header(node: ast.stmt) -> bool:
    docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return docstring or (isinstance(node, ast.ImportFrom) and node.module == "__future__")


def _unbound_names(tree: ast.Module) -> bool:
    bound = _all_bound_names(tree)
    return any(
        isinstance(node, ast.Name) and node.id not in bound and not hasattr(builtins, node.id)
        for node in all_nodes(tree)
    )


def _all_bound_names(tree: ast.Module) -> set[str]:
    return {"__name__", "__file__", *bound_names(all_nodes(tree))}


def vary_unit(
    parent: str,
    mate: str | None,
    signature: Signature,
    seed: str,
    *,
    primitives: Sequence[str],
    rng: np.random.Generator,
    best: str | None = None,
) -> Offspring:
    """Breed a child of a candidate by ``vary``, with a size limit from the seed and the best program.

    If a candidate is one function in one file, no random number is drawn to choose a function. Fixed parts of a
    candidate are restored when the child is evaluated.

    Raises:
        CandidateError: ``parent`` or ``mate`` does not parse.
    """
    names, functions = signature.files or ("heuristic.py",), signature.functions
    function = functions[int(rng.integers(len(functions)))] if len(functions) > 1 else functions[0]
    if len(names) == 1:
        return vary(parent, mate, function=function, primitives=primitives, rng=rng, most=room(seed, best))
    files, others, begun, top = (split_files(text, names) if text else {} for text in (parent, mate, seed, best))
    definition = re.compile(rf"^def {re.escape(function)}\b", re.MULTILINE)
    home = next((name for name in names if definition.search(files.get(name, ""))), names[0])
    for text in (files[home], others.get(home), begun.get(home), top.get(home)):
        if text:
            # The files of the program have been checked one by one.
            mark_safe(text)
    most = room(begun[home], top.get(home))
    child = vary(files[home], others.get(home), function=function, primitives=primitives, rng=rng, most=most)
    source = join_files({name: child.source if name == home else files[name] for name in names})
    mark_safe(source)
    return Offspring(source, child.operator)


def breed_child(source: str, seed: int, quoted: Sequence[str] = ()) -> str:
    """Breed a child of a program whose last function evolves. ``quoted`` expressions may be inserted."""
    try:
        functions = [node for node in parsed(source).body if isinstance(node, ast.FunctionDef)]
        if not functions:
            return source
        names = {*MODULES, *(arg.arg for arg in functions[-1].args.args)}
        primitives = [text for text in quoted if _is_expression(text, names)]
        rng = np.random.default_rng(seed)
        name, limit = functions[-1].name, room(source)
        return vary(source, None, function=name, primitives=primitives, rng=rng, most=limit).source
    except CandidateError:
        return source


def child_of_seed(problem: Problem, rng: np.random.Generator) -> Offspring:
    """Breed a child of a problem's seed heuristic, as in the first round of a search."""
    seed, primitives = problem.seed, problem.about.primitives
    child = vary_unit(seed, None, problem.signature, seed, primitives=primitives, rng=rng)
    return replace(child, source=fit_to_frame(child.source, problem.signature))


def _is_expression(text: str, names: set[str]) -> bool:
    if text[:1].isspace():
        return False
    try:
        node = parse_expression(text)
    except CandidateError:
        return False
    return not isinstance(node, ast.Name | ast.Constant) and set(free_names(node)) <= names
