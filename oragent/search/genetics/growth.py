"""Genetic-programming operators that add material to a program. Each changes one place or returns False.

Subtree mutation and crossover follow Koza 1992, *Genetic Programming* (ISBN 0-262-11170-5). Terminals are the problem's
primitives. Functions around them are typical of heuristics: powers, ranks, thresholds, normalised and exponentially
scaled terms. An expression of the mate is inserted with its variables replaced by their definitions.
"""

import ast
import copy
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from oragent._base.ast_utils import all_nodes
from oragent._base.errors import CandidateError
from oragent.evaluation.problem import Primitive
from oragent.programs.inspection import parse_expression
from oragent.programs.inspection import parse_tree as parsed
from oragent.search.genetics.draft import (
    MAX_POWER,
    Draft,
    build_expression,
    count_nodes,
    fits_shape,
    is_reachable,
    round_to_three,
)
from oragent.search.genetics.expressions import ExpressionKind
from oragent.search.genetics.sites import Site, find_sites

# Largest number of nodes of an inserted expression of the mate.
MAX_GRAFT = 25
# Largest number of nodes of an expression that may be repeated in the text.
SMALL = 8


@dataclass(frozen=True)
class _Form:
    """Form into which ``e`` is rewritten, alone or with a primitive ``p`` (``q`` if the primitive must not be zero)."""

    # Text of the form; ``k`` is an exponent, ``c`` and ``d`` are coefficients.
    text: str
    # Weights of the form for a whole result and for a part.
    at_root: float
    inside: float
    # True if ``p`` or ``e`` must be non-negative; False if its sign must be unknown.
    sign: bool | None = None
    # Whether it must be an array.
    array: bool = False
    # Typical size of ``c``.
    centre: float = 0.7


@dataclass(frozen=True)
class _Block:
    """Expression to insert. Its type is declared in ``told``, or else inferred from its text."""

    node: ast.expr
    told: Primitive | None = None

    def shape(self, site: Site) -> int | None:
        """Return 0 for a number, 1 for an array, None if unknown."""
        if self.told is None:
            return site.facts.shape(self.node)
        return int(self.told.is_array)

    def nonnegative(self, site: Site) -> bool:
        if self.told is None:
            return site.facts.nonnegative(self.node)
        return self.told.is_nonnegative

    def fits(self, site: Site) -> bool:
        if self.told is not None:
            return self.shape(site) == site.shape
        is_number = site.facts.shape(self.node) is not None and site.facts.kind(self.node) is ExpressionKind.NUMBER
        return is_number and fits_shape(site, self.node)


_WRAPS = (
    _Form("{e} ** {k}", 8, 2, sign=True),
    _Form("{e} ** 3", 1, 0.5, sign=False),
    _Form("{e} ** 2", 0.3, 1, sign=False),
    _Form("np.sqrt({e})", 0.7, 1, sign=True),
    _Form("np.sqrt(np.abs({e}))", 0.3, 0.7, sign=False),
    _Form("np.log1p({e})", 0.7, 1, sign=True),
    _Form("np.log1p(np.abs({e}))", 0.3, 0.7, sign=False),
    _Form("np.exp(-{e})", 0.5, 1, sign=True),
    _Form("np.exp(-{c} * {e} / np.mean({e}))", 0.5, 2, sign=True, array=True, centre=3),
    _Form("np.exp({c} * {e} / np.max({e}))", 2, 0.5, sign=True, array=True, centre=5),
    _Form("1 / (1 + {e})", 0.3, 0.7, sign=True),
    _Form("{e} * {c}", 0, 1),
    _Form("{e} + {c}", 0.5, 1),
    _Form("-{e}", 0.4, 0.3),
    _Form("np.tanh({e})", 0.4, 0.5),
    _Form("{e} / (np.mean({e}, axis=-1, keepdims=True) + 1e-09)", 1, 1, sign=True, array=True),
    _Form("{e} / (np.max(np.abs({e})) + 1e-09)", 0.2, 0.5, array=True),
    _Form("({e} - np.mean({e})) / (np.std({e}) + 1e-09)", 0.3, 0.7, array=True),
    _Form("1 + np.argsort(np.argsort({e}, -1), -1)", 0.5, 0.7, array=True),
    _Form("np.where({e} >= {d} * np.mean({e}), {e}, {c} * {e})", 0.7, 0.3, array=True, centre=0.3),
)
_INSERTS = (
    _Form("{e} * {p} ** {k}", 3, 2, sign=True),
    _Form("{e} * {p}", 0.5, 0.5),
    _Form("{e} / {q} ** {k}", 3, 2),
    _Form("{e} + {c} * {p}", 2, 2),
    _Form("{e} - {c} * {p}", 2, 2),
    _Form("np.where({p} <= {d} * np.mean({p}), {e}, {c} * {e})", 1.5, 0.5, array=True, centre=0.3),
    _Form("{e} * np.exp(-{c} * {p} / np.mean({p}))", 1, 0.5, sign=True, array=True, centre=2),
)


def wrap_expression(draft: Draft) -> bool:
    """Wrap a sub-expression: a power, a root, a logarithm, an exponential, a normalisation, a rank, a threshold."""
    # A monotone function has no effect on a value that is only compared.
    sites = [site for site in draft.sites.numbers if not site.context.ordinal]
    return bool(sites) and wrap_at(draft, draft.choose(sites))


def wrap_at(draft: Draft, site: Site) -> bool:
    """Wrap the expression at ``site``."""
    node = site.node
    exponent = _constant_exponent(node)
    if isinstance(node, ast.BinOp) and exponent and draft.chance(0.6):
        node.right = build_expression(str(round_to_three(min(exponent * draft.pick((0.5, 1.5, 2.0, 3.0)), MAX_POWER))))
        return True
    positive, small = site.facts.nonnegative(node), count_nodes(node) <= SMALL
    forms = [form for form in _suitable_forms(draft, _WRAPS, positive, site.shape) if not _repeats_form(form, site)]
    forms = [form for form in forms if small or site.returned or form.text.count("{e}") == 1]
    form = _draw_form(draft, forms, site)
    if not small and form.text.count("{e}") > 1:
        node = draft.define(site, node, "scores")
    site.put(_fill_form(draft, form, e=node))
    return True


def insert_primitive(draft: Draft) -> bool:
    """Combine a result, or a part of it, with a primitive of the problem."""
    return any(_combine_with_block(draft, block) for block in _parse_primitives(draft.shuffled(draft.primitives)))


def replace_expression(draft: Draft) -> bool:
    """Replace a sub-expression by a primitive of the problem."""
    return any(_exchange_for_block(draft, block) for block in _parse_primitives(draft.shuffled(draft.primitives)))


def graft_expression(draft: Draft) -> bool:
    """Replace a sub-expression of the parent by one of the mate, or combine the two."""
    donated = None if draft.mate is None else _draw_donation(draft, parsed(draft.mate))
    if donated is None:
        return False
    block = _Block(donated)
    if draft.chance(0.4):
        first, second = (_combine_with_block, _exchange_for_block)
    else:
        first, second = (_exchange_for_block, _combine_with_block)
    return first(draft, block) or second(draft, block)


def _combine_with_block(draft: Draft, block: _Block) -> bool:
    node = block.node
    sites = [site for site in draft.sites.numbers if site.context.outer and is_reachable(site, node)]
    sites = [site for site in sites if site.shape == 1 or block.shape(site) == 0]
    if not sites:
        return False
    site = draft.choose(sites)
    positive, shape, guard = block.nonnegative(site), block.shape(site), _guard_form(draft, site, block)
    form = _draw_form(draft, _suitable_forms(draft, _INSERTS, positive, shape), site)
    if site.returned and count_nodes(node) > 1 and draft.chance(0.3):
        node = draft.define(site, node, "term")
    site.put(_fill_form(draft, form, e=site.node, p=node, q=build_expression(guard, p=node)))
    return True


def _exchange_for_block(draft: Draft, block: _Block) -> bool:
    node, text = block.node, ast.unparse(block.node)
    sites = [site for site in draft.sites.numbers if site.context.outer and not site.context.root]
    sites = [site for site in sites if block.fits(site)]
    sites = [site for site in sites if is_reachable(site, node) and ast.unparse(site.node) != text]
    if not sites:
        return False
    site = draft.pick(sites)
    site.put(build_expression(_guard_form(draft, site, block), p=node) if site.divides else node)
    return True


def _guard_form(draft: Draft, site: Site, block: _Block) -> str:
    """Return a form of ``p`` that is safe as a divisor.

    It is ``p`` itself only if the program already divides by it.
    """
    text = ast.unparse(block.node)
    operations = [node for node in all_nodes(draft.tree) if isinstance(node, ast.BinOp)]
    divisors = [node.right for node in operations if isinstance(node.op, ast.Div)]
    bases = [node.left if isinstance(node, ast.BinOp) and _constant_exponent(node) else node for node in divisors]
    if any(ast.unparse(node) == text for node in bases):
        return "{p}"
    if block.nonnegative(site):
        return "{p} + 0.001"
    return "abs({p}) + 0.001"


def _draw_donation(draft: Draft, mate: ast.Module) -> ast.expr | None:
    """Draw a sub-expression of the mate that uses only parameters of the evolved function."""
    sites = [site for site in find_sites(mate, draft.function).numbers if site.context.outer and site.facts.evolved]
    definitions = _single_assignments(mate, draft.function) if sites else {}
    for site in draft.shuffled(sites)[:5]:
        node = copy.deepcopy(site.node)
        # Definitions of variables may contain other variables.
        for _ in range(4):
            if count_nodes(node) <= MAX_GRAFT:
                node = _Expansion(definitions).visit(node)
        if count_nodes(node) <= MAX_GRAFT:
            return build_expression("{e}", e=node)
    return None


def _single_assignments(tree: ast.Module, function: str) -> dict[str, ast.expr]:
    unit = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == function][-1]
    bound = [node.id for node in all_nodes(unit) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    bound += [node.arg for node in all_nodes(unit) if isinstance(node, ast.arg)]
    values = {}
    for statement in unit.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if bound.count(name) == 1:
                values[name] = value
    return values


class _Expansion(ast.NodeTransformer):
    """Replaces variables by their definitions."""

    def __init__(self, definitions: dict[str, ast.expr]) -> None:
        self.definitions = definitions

    def visit_Name(self, node: ast.Name) -> ast.expr:
        value = self.definitions.get(node.id)
        if value is None:
            return node
        return copy.deepcopy(value)


def _suitable_forms(draft: Draft, forms: Iterable[_Form], positive: bool, shape: int | None) -> list[_Form]:
    return [
        form
        for form in forms
        if form.sign in (None, positive)
        and (shape == 1 or not form.array)
        # Functions of torch do not accept plain numbers.
        and (shape == 1 or not draft.torch or "np." not in form.text)
    ]


def _repeats_form(form: _Form, site: Site) -> bool:
    """Return True if the form would give a power of a power, or a double negation."""
    if "** {k}" in form.text:
        return _constant_exponent(site.node) > 0 or (
            isinstance(site.parent, ast.expr) and _constant_exponent(site.parent) > 0
        )
    return form.text == "-{e}" and isinstance(site.node, ast.UnaryOp)


def _draw_form(draft: Draft, forms: Sequence[_Form], site: Site) -> _Form:
    return draft.weighted(forms, [form.at_root if site.context.root else form.inside for form in forms])


def _fill_form(draft: Draft, form: _Form, **parts: ast.expr) -> ast.expr:
    power = draft.pick((0.5, 1.5, 2, 3, 4) if "p" not in parts else (0.5, 1, 1, 2, 3))
    text = form.text if power != 1 else form.text.replace(" ** {k}", "")
    if draft.torch:
        text = text.replace("np.", "torch.")
    coefficients = {"c": draft.number(form.centre, 0.8), "d": draft.number(1, 0.5)}
    return build_expression(
        text,
        **parts,
        k=build_expression(str(power)),
        **{name: build_expression(str(c)) for name, c in coefficients.items()},
    )


def _constant_exponent(node: ast.expr) -> float:
    match node:
        case ast.BinOp(op=ast.Pow(), right=ast.Constant(value=int() | float() as exponent)):
            return exponent
        case _:
            return 0.0


def _parse_primitives(primitives: Iterable[str]) -> Iterator[_Block]:
    for text in primitives:
        try:
            yield _Block(parse_expression(text), text if isinstance(text, Primitive) else None)
        except CandidateError:
            # A problem may list a statement as a primitive, which cannot be combined.
            continue
