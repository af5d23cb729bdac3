"""Operators for programs without a place for an expression, such as schedules that are built job by job.

They change any number, the direction of any comparison that decides a branch, and the order of a choice.
"""

import ast
from collections.abc import Callable, Iterator
from functools import partial

from oragent._base.ast_utils import all_nodes
from oragent.search.genetics.draft import ORDERS, Draft, change_order, round_to_three

# Keyword arguments whose numbers are no values.
STRUCTURAL = frozenset(("axis", "ddof", "ndim", "ndmin"))
# Builtin functions that choose, and their counterparts.
CHOICES = {"min": "max", "max": "min"}
# Share of the changes of numbers, and maximum relative step of an integer.
NUMBERS, MAX_STEP = 0.6, 0.3


def change_inside(draft: Draft) -> str:
    """Change a number, a branch or a choice; return the name of the operator, or an empty text without a place."""
    steps = [("constant", change_number), ("branch", change_branch)]
    if not draft.chance(NUMBERS):
        steps.reverse()
    return next((name for name, step in steps if step(draft)), "")


def change_number(draft: Draft) -> bool:
    """Change one number anywhere in the program, except in an index."""
    places = [*_find_numbers(draft.tree)]
    if not places:
        return False
    place = draft.pick(places)
    value = place.value
    if isinstance(value, int):
        step = max(1, round(MAX_STEP * abs(value) * float(draft.rng.random())))
        place.value = max(value + draft.pick((-step, step)), min(value, 0))
    elif isinstance(value, float):
        place.value = draft.number(value, 0.4) if value else round_to_three(float(draft.rng.normal(0, 0.5)))
    return True


def change_branch(draft: Draft) -> bool:
    """Reverse a condition of a branch, or the order of a choice or of a sort."""
    changes = [*_find_changes(draft)]
    if not changes:
        return False
    draft.pick(changes)()
    return True


def _find_numbers(node: ast.AST) -> Iterator[ast.Constant]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.keyword) and child.arg in STRUCTURAL:
            continue
        if isinstance(child, ast.Subscript):
            yield from _find_numbers(ast.Expr(child.value))
        elif isinstance(child, ast.Constant):
            if type(child.value) in (int, float):
                yield child
        else:
            yield from _find_numbers(child)


def _find_changes(draft: Draft) -> Iterator[Callable[[], None]]:
    for node in all_nodes(draft.tree):
        if isinstance(node, ast.If | ast.IfExp):
            yield partial(_reverse_condition, draft, node)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CHOICES:
            yield partial(_swap_choice, node.func)
        elif isinstance(node, ast.Call) and _is_sort(node.func):
            yield partial(_reverse_sort, node)


def _swap_choice(name: ast.Name) -> None:
    name.id = CHOICES[name.id]


def _reverse_condition(draft: Draft, branch: ast.If | ast.IfExp) -> None:
    branch.test = _reverse_test(draft, branch.test)


def _reverse_test(draft: Draft, test: ast.expr) -> ast.expr:
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ORDERS):
        change_order(draft, test)
        return test
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return test.operand
    return ast.UnaryOp(ast.Not(), test)


def _is_sort(function: ast.expr) -> bool:
    is_method = isinstance(function, ast.Attribute) and function.attr == "sort"
    return is_method or (isinstance(function, ast.Name) and function.id == "sorted")


def _reverse_sort(call: ast.Call) -> None:
    reverse = next((keyword for keyword in call.keywords if keyword.arg == "reverse"), None)
    if reverse is None:
        call.keywords.append(ast.keyword("reverse", ast.Constant(True)))
    else:
        reverse.value = ast.UnaryOp(ast.Not(), reverse.value)
