"""Rename the local variables of a program in order of their appearance, scope by scope.

Each variable of each function, lambda or comprehension gets a name that occurs nowhere else, so nothing is captured.
Everything else keeps its name: parameters (callers pass them by keyword), functions, classes and their attributes,
imports, globals, names in ``global`` and ``nonlocal`` statements and in ``match`` patterns. The one exception among
parameters is that of a lambda given as the ``key`` of min, max or sorted, which call it by position.

The standard library's symtable is of no use here: since Python 3.12 it hides the scopes of comprehensions.
"""

import ast
from collections.abc import Iterable, Sequence
from itertools import count

from oragent._base.trees import child_nodes

_Named = ast.Name | ast.arg
_Comprehension = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp


def rename_locals(tree: ast.Module, all_nodes: Sequence[ast.AST]) -> None:
    """Rename the local variables in ``tree`` in place, or none of them where a name may be seen from within.

    There may be some among its nodes that it has no more.
    """
    if any(map(_is_doubtful, all_nodes)):
        return
    finder = _Finder()
    finder.visit(tree)
    finder.settle_keys()
    owners = [(node, finder.find_owner(node, scope)) for node, scope in finder.uses]
    taken = finder.fixed_names.union(*(scope.fixed for scope in finder.scopes))
    taken |= {_name_of(node) for node, owner in owners if owner is None}
    fresh = (f"v{number}" for number in count() if f"v{number}" not in taken)
    chosen: dict[tuple[_Scope, str], str] = {}
    for node, owner in owners:
        if owner is None:
            continue
        key = (owner, _name_of(node))
        if key not in chosen:
            chosen[key] = next(fresh)
        if isinstance(node, ast.Name):
            node.id = chosen[key]
        else:
            node.arg = chosen[key]


def _is_doubtful(node: ast.AST) -> bool:
    # An exception's text may hold the name of a variable; type parameters have scopes of their own.
    return (isinstance(node, ast.ExceptHandler) and node.name is not None) or bool(getattr(node, "type_params", None))


def _name_of(node: _Named) -> str:
    return node.id if isinstance(node, ast.Name) else node.arg


class _Scope:
    def __init__(self, kind: str, parent: "_Scope | None") -> None:
        self.kind, self.parent = kind, parent
        self.bound: set[str] = set()
        self.fixed: set[str] = set()  # bound here, but not by an assignment: keeps its name

    def resolve(self, name: str) -> "_Scope | None":
        """Return the scope that binds ``name`` as it is seen from here; a class body hides from scopes within it."""
        scope: _Scope | None = self
        while scope is not None:
            if name in scope.bound and (scope is self or scope.kind != "class"):
                return scope
            scope = scope.parent
        return None


class _Finder(ast.NodeVisitor):
    """Collect every scope's bindings, and every use of a name with the scope it stands in, in order of appearance."""

    def __init__(self) -> None:
        self.scope = _Scope("module", None)
        self.scopes = [self.scope]
        self.uses: list[tuple[_Named, _Scope]] = []
        self.fixed_names: set[str] = set()  # names that are not changed in any scope
        self._keywords: set[str] = set()
        self._keys: dict[ast.Lambda, tuple[str, _Scope]] = {}
        self._inner: dict[ast.Lambda, _Scope] = {}

    def find_owner(self, node: _Named, scope: _Scope) -> _Scope | None:
        """Return the scope whose local variable ``node`` is, or None where the name must stay."""
        name, owner = _name_of(node), scope.resolve(_name_of(node))
        if owner is None or owner.kind in ("module", "class") or name in owner.fixed or name in self.fixed_names:
            return None
        return owner

    def settle_keys(self) -> None:
        """Fix the parameters of ``key`` lambdas that could be passed by keyword after all."""
        for node, (function, scope) in self._keys.items():
            inner = self._inner[node]
            if scope.resolve(function) is not None:
                inner.fixed |= {arg.arg for arg in node.args.args}
            inner.fixed |= self._keywords & inner.bound

    def generic_visit(self, node: ast.AST) -> None:
        self._visit_all(child_nodes(node))

    def visit_Name(self, node: ast.Name) -> None:
        self.uses.append((node, self.scope))
        if not isinstance(node.ctx, ast.Load):
            self.scope.bound.add(node.id)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.visit(node.value)
        scope = self.scope
        while scope.kind == "comprehension" and scope.parent is not None:
            scope = scope.parent
        scope.bound.add(node.target.id)
        self.uses.append((node.target, scope))

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._fix_names(node.name)
        self._visit_all(node.decorator_list)
        self._visit_signature(node.args)
        if node.returns:
            self.visit(node.returns)
        self._enter_scope("function")
        self._fix_names(*(arg.arg for arg in list_arguments(node.args)))
        self._visit_all(node.body)
        self._leave_scope()

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._visit_signature(node.args)
        self._inner[node] = self._enter_scope("function")
        free = set(node.args.args) if node in self._keys else set()
        for arg in list_arguments(node.args):
            if arg in free:
                self.scope.bound.add(arg.arg)
                self.uses.append((arg, self.scope))
            else:
                self._fix_names(arg.arg)
        self.visit(node.body)
        self._leave_scope()

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._fix_names(node.name)
        self._visit_all([*node.decorator_list, *node.bases, *node.keywords])
        self._enter_scope("class")
        self._visit_all(node.body)
        self._leave_scope()

    def visit_ListComp(self, node: _Comprehension) -> None:
        first, *others = node.generators
        self.visit(first.iter)  # evaluated outside
        self._enter_scope("comprehension")
        self._visit_all([first.target, *first.ifs])
        for generator in others:
            self._visit_all([generator.target, generator.iter, *generator.ifs])
        self._visit_all([node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt])
        self._leave_scope()

    visit_SetComp = visit_GeneratorExp = visit_DictComp = visit_ListComp

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Name) and node.func.id in ("min", "max", "sorted"):
            for keyword in node.keywords:
                if keyword.arg == "key" and isinstance(keyword.value, ast.Lambda):
                    self._keys[keyword.value] = (node.func.id, self.scope)
        self._keywords.update(keyword.arg for keyword in node.keywords if keyword.arg)
        self.generic_visit(node)

    def visit_alias(self, node: ast.alias) -> None:
        self._fix_names((node.asname or node.name).split(".")[0])

    def visit_Global(self, node: ast.Global | ast.Nonlocal) -> None:
        self.fixed_names.update(node.names)

    visit_Nonlocal = visit_Global

    def visit_MatchAs(self, node: ast.MatchAs | ast.MatchStar) -> None:
        self.fixed_names.update([node.name] if node.name else [])
        self.generic_visit(node)

    visit_MatchStar = visit_MatchAs

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        self.fixed_names.update([node.rest] if node.rest else [])
        self.generic_visit(node)

    def _visit_signature(self, args: ast.arguments) -> None:
        annotations = [arg.annotation for arg in list_arguments(args)]
        self._visit_all(node for node in (*args.defaults, *args.kw_defaults, *annotations) if node)

    def _visit_all(self, nodes: Iterable[ast.AST]) -> None:
        for node in nodes:
            self.visit(node)

    def _fix_names(self, *names: str) -> None:
        self.scope.bound.update(names)
        self.scope.fixed.update(names)

    def _enter_scope(self, kind: str) -> _Scope:
        self.scope = _Scope(kind, self.scope)
        self.scopes.append(self.scope)
        return self.scope

    def _leave_scope(self) -> None:
        assert self.scope.parent is not None
        self.scope = self.scope.parent


def list_arguments(args: ast.arguments) -> list[ast.arg]:
    """Return all parameters of a function."""
    rest = [arg for arg in (args.vararg, args.kwarg) if arg]
    return [*args.posonlyargs, *args.args, *args.kwonlyargs, *rest]
