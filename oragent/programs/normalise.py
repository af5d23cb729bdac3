"""Remove the parts of a program that do not affect its behaviour, and rename its local variables.

In doubt a part stays. Each variable of each function, lambda or comprehension gets a name, in order of appearance, that
occurs nowhere else, so nothing is captured. All other names stay: parameters (callers pass them by keyword), functions,
classes and their attributes, imports, globals, names in ``global`` and ``nonlocal`` statements and in ``match``
patterns. The only parameters that are renamed are those of a lambda given as the ``key`` of min, max or sorted, which
call it by position.

The module symtable of the standard library cannot be used: since Python 3.12 it hides the scopes of comprehensions.
"""

import ast
import re
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import import_module
from itertools import count

from oragent._base.ast_utils import all_nodes, child_nodes

_Named = ast.Name | ast.arg
_Comprehension = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp


# A program that uses one of these may read its own names, text, annotations or definitions.
_REFLECTIVE = re.compile(
    "eval|exec|compile|locals|globals|vars|dir|getattr|setattr|delattr|hasattr|open|attrgetter|methodcaller|getsource|"
    "get_type_hints|signature|singledispatch|singledispatchmethod|query|evaluate|objmode|breakpoint|"
    "fromfile|loadtxt|genfromtxt|memmap"
)
_REFLECTIVE_MODULE = re.compile(
    "ast|builtins|ctypes|dis|gc|importlib|inspect|io|linecache|logging|_?os|pathlib|pickle|subprocess|symtable|_?sys|"
    "tokenize|traceback|types|warnings"
)
_HIDDEN = re.compile(r"__|\b(?:f_(?:back|builtins|code|globals|locals)|(?:ag|co|cr|gi|tb)_[a-z])")
_HARMLESS = frozenset(["__init__", "__name__", "__main__"])
# Imports are dropped only if they certainly succeed.
_MODULES = frozenset(["collections", "functools", "heapq", "itertools", "math", "numpy", "random", "typing"])
_CONTAINERS = frozenset(["list", "tuple", "set", "frozenset", "dict"])
_TYPES = _CONTAINERS | {"int", "float", "bool", "complex", "str", "bytes", "object"}
_TYPING = frozenset(["Any", "List", "Dict", "Set", "Tuple", "Sequence", "Iterable", "Callable"])
# Number of type arguments.
_GENERICS = {"List": 1, "Set": 1, "Sequence": 1, "Iterable": 1, "Optional": 1, "Dict": 2}
_ATTRIBUTES = {"numpy": frozenset(["ndarray", "float64", "int64"]), "torch": frozenset(["Tensor"]), "typing": _TYPING}
_TELLING = frozenset((ast.Name, ast.Attribute, ast.keyword, ast.alias, ast.ImportFrom, ast.Constant))


def rename_locals(tree: ast.Module, all_nodes: Sequence[ast.AST]) -> None:
    """Rename the local variables in ``tree`` in place, or none if the program may read names.

    ``all_nodes`` may contain nodes that were removed from the tree.
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
    # An exception's text may contain the name of a variable; type parameters have their own scopes.
    return (isinstance(node, ast.ExceptHandler) and node.name is not None) or bool(getattr(node, "type_params", None))


def _name_of(node: _Named) -> str:
    if isinstance(node, ast.Name):
        return node.id
    return node.arg


class _Scope:
    def __init__(self, kind: str, parent: "_Scope | None") -> None:
        self.kind, self.parent = kind, parent
        self.bound: set[str] = set()
        # Names bound here without an assignment, which stay.
        self.fixed: set[str] = set()

    def resolve(self, name: str) -> "_Scope | None":
        """Return the scope that binds ``name`` as seen from here; inner scopes do not see the names of a class body."""
        scope: _Scope | None = self
        while scope is not None:
            if name in scope.bound and (scope is self or scope.kind != "class"):
                return scope
            scope = scope.parent
        return None


class _Finder(ast.NodeVisitor):
    """Collector of the bindings of every scope, and of every use of a name with its scope, in order of appearance."""

    def __init__(self) -> None:
        self.scope = _Scope("module", None)
        self.scopes = [self.scope]
        self.uses: list[tuple[_Named, _Scope]] = []
        # Names that stay in all scopes.
        self.fixed_names: set[str] = set()
        self._keywords: set[str] = set()
        self._keys: dict[ast.Lambda, tuple[str, _Scope]] = {}
        self._inner: dict[ast.Lambda, _Scope] = {}

    def find_owner(self, node: _Named, scope: _Scope) -> _Scope | None:
        """Return the scope whose local variable ``node`` is, or None if the name must stay."""
        name, owner = _name_of(node), scope.resolve(_name_of(node))
        if owner is None or owner.kind in ("module", "class") or name in owner.fixed or name in self.fixed_names:
            return None
        return owner

    def settle_keys(self) -> None:
        """Keep the parameters of ``key`` lambdas that could be passed by keyword."""
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
        # The first iterable is evaluated outside.
        self.visit(first.iter)
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


def normalise(tree: ast.Module, functions: Sequence[str], program_nodes: Sequence[ast.AST] = ()) -> ast.Module | None:
    """Strip and rename in place for ``ast.unparse``; return None if the program may read itself.

    ``functions`` must stay. ``program_nodes`` is the result of ``drop_docstrings``; empty if it was not called.
    """
    program_nodes = program_nodes or drop_docstrings(tree)
    if any(_looks_at_itself(node) for node in program_nodes):
        return None
    if any(getattr(node, "annotation", None) or getattr(node, "returns", None) for node in program_nodes):
        _drop_annotations(tree)
    if len(tree.body) > 1 or getattr(tree.body[0] if tree.body else None, "name", "") not in functions:
        _drop_unused(tree, functions)
    try:
        rename_locals(tree, program_nodes)
    except RecursionError:
        return None
    return tree


def drop_docstrings(tree: ast.Module) -> list[ast.AST]:
    """Drop docstrings and other constant statements in place, and return the remaining nodes."""
    program_nodes, dropped = all_nodes(tree), False
    fields_by_kind = _block_fields()
    for node in program_nodes:
        for field in fields_by_kind.get(type(node), ()):
            block = getattr(node, field, ())
            if any(map(_is_constant, block)):
                statements = [statement for statement in block if not _is_constant(statement)]
                may_be_empty = field == "orelse" or isinstance(node, ast.Module)
                setattr(node, field, statements if statements or may_be_empty else [ast.Pass()])
                dropped = True
    if dropped:
        return all_nodes(tree)
    return program_nodes


@cache
def _block_fields() -> dict[type[ast.AST], tuple[str, ...]]:
    """Return the fields that contain statements, by type of node."""
    statements = (ast.mod, ast.stmt, ast.ExceptHandler, ast.match_case)
    fields_by_kind: dict[type[ast.AST], tuple[str, ...]] = {}
    for kind in vars(ast).values():
        if isinstance(kind, type) and issubclass(kind, statements):
            fields_by_kind[kind] = tuple(field for field in ("body", "orelse", "finalbody") if field in kind._fields)
    return {kind: fields for kind, fields in fields_by_kind.items() if fields and kind is not ast.Expression}


def _is_constant(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _looks_at_itself(node: ast.AST) -> bool:
    if type(node) not in _TELLING:
        return False
    match node:
        case ast.Name(id=name):
            return bool(_REFLECTIVE.fullmatch(name)) or ("__" in name and name not in _HARMLESS)
        case ast.Attribute(attr=name):
            return _is_reflective(name) or _is_hidden(name)
        case ast.keyword(arg=str(name)):
            return bool(_REFLECTIVE.fullmatch(name))
        case ast.alias(name=name) | ast.ImportFrom(module=str(name)):
            return any(map(_is_reflective, name.split(".")))
        case ast.Constant(value=str(text)):
            return _is_hidden(text)
        case _:
            return False


def _is_reflective(name: str) -> bool:
    return bool(_REFLECTIVE.fullmatch(name) or _REFLECTIVE_MODULE.fullmatch(name))


def _is_hidden(text: str) -> bool:
    return text not in _HARMLESS and bool(_HIDDEN.search(text))


def _drop_annotations(tree: ast.Module) -> None:
    """Drop annotations of undecorated functions and of their variables, unless evaluating one could raise."""
    # Names of modules and of members of typing that are certainly bound at this point.
    origins: dict[str, str] = {}
    rebound = _rebound_names(tree)
    for statement in tree.body:
        imported: dict[str, str] = {}
        if isinstance(statement, ast.Import):
            imported = {item.asname or item.name: item.name for item in statement.names}
        elif isinstance(statement, ast.ImportFrom) and statement.module in ("typing", "__future__"):
            imported = {item.asname or item.name: f"{statement.module}.{item.name}" for item in statement.names}
        origins |= {name: origin for name, origin in imported.items() if name not in rebound}
        if isinstance(statement, ast.FunctionDef):
            _drop_in_function(statement, origins, rebound)


def _rebound_names(tree: ast.Module) -> set[str]:
    names = set()
    for node in all_nodes(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
                names.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
    return names


def _drop_in_function(function: ast.FunctionDef, origins: dict[str, str], rebound: set[str]) -> None:
    for node in all_nodes(function):
        if isinstance(node, ast.FunctionDef) and not node.decorator_list:
            if node.returns and _is_safe(node.returns, origins, rebound):
                node.returns = None
            for arg in list_arguments(node.args):
                if arg.annotation and _is_safe(arg.annotation, origins, rebound):
                    arg.annotation = None
        for field in () if isinstance(node, ast.ClassDef) else ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list):
                block[:] = [_drop_annotation(statement) for statement in block]


def _drop_annotation(statement: ast.stmt) -> ast.stmt:
    """Turn ``x: T = e`` into ``x = e``: in a function the annotation of a plain name is never evaluated."""
    if isinstance(statement, ast.AnnAssign) and statement.simple:
        if statement.value:
            return ast.copy_location(ast.Assign([statement.target], statement.value), statement)
        # The statement still makes the name local.
        statement.annotation = ast.Constant(None)
    return statement


def _is_safe(node: ast.expr, origins: dict[str, str], rebound: set[str]) -> bool:
    """Return True if evaluating an annotation can neither raise nor have side effects."""
    if "__future__.annotations" in origins.values():
        return True
    match node:
        case ast.Constant(value=value):
            return value is None or isinstance(value, str)
        case ast.Name(id=name):
            plain = name in _TYPES and name not in rebound and name not in origins
            return plain or _typing_name(node, origins) in _TYPING
        case ast.Attribute(value=ast.Name(id=name), attr=attr):
            return attr in _ATTRIBUTES.get(origins.get(name, ""), ())
        case ast.Subscript(value=ast.Name(id=name) as base, slice=inner):
            parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            if name in _CONTAINERS:
                parts = [part for part in parts if not (isinstance(part, ast.Constant) and part.value is ...)]
                return _is_safe(base, origins, rebound) and all(_is_safe(part, origins, rebound) for part in parts)
            # Texts would be parsed.
            typed = not any(isinstance(part, ast.Constant) for part in parts)
            fits = _GENERICS.get(_typing_name(base, origins)) == len(parts)
            return fits and typed and all(_is_safe(part, origins, rebound) for part in parts)
        case ast.BinOp(left=left, op=ast.BitOr(), right=ast.Constant(value=None)):
            return not isinstance(left, ast.Constant) and _is_safe(left, origins, rebound)
        case _:
            return False


def _typing_name(node: ast.Name, origins: dict[str, str]) -> str:
    return origins.get(node.id, "").removeprefix("typing.")


def _drop_unused(tree: ast.Module, functions: Sequence[str]) -> None:
    """Drop unused parts: imports that cannot fail, plain functions, constants of the module."""
    # Statements by each name for which they are needed.
    waiting: dict[str, list[ast.stmt]] = {}
    needed: set[ast.stmt] = set()
    used, fresh = set(functions), list(functions)

    def keep_statement(statement: ast.stmt) -> None:
        needed.add(statement)
        more = _mentioned_names(statement) - used
        used.update(more)
        fresh.extend(more)

    for statement in tree.body:
        names = _only_for(statement)
        if names is None:
            keep_statement(statement)
        for name in names or ():
            waiting.setdefault(name, []).append(statement)
    while fresh:
        for statement in waiting.pop(fresh.pop(), ()):
            if statement not in needed:
                keep_statement(statement)
    tree.body = [statement for statement in tree.body if statement in needed]
    for statement in tree.body:
        if _module_of(statement):
            assert isinstance(statement, ast.Import | ast.ImportFrom)
            statement.names = [item for item in statement.names if (item.asname or item.name) in used]


def _only_for(statement: ast.stmt) -> set[str] | None:
    """Return the names of a statement that can be dropped if these are unused; None if it must stay."""
    match statement:
        case ast.Import(names=items) | ast.ImportFrom(names=items) if _module_of(statement):
            return {item.asname or item.name for item in items}
        case ast.FunctionDef(name=name, decorator_list=[], returns=None, args=args):
            defaults = [node for node in (*args.defaults, *args.kw_defaults) if node]
            plain = all(isinstance(node, ast.Constant) for node in defaults)
            bare = not any(arg.annotation for arg in list_arguments(args))
            if plain and bare and not getattr(statement, "type_params", None):
                return {name}
            return None
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant()):
            return {name}
        case _:
            return None


def _module_of(statement: ast.stmt) -> bool:
    """Return True if a statement imports only members that certainly exist."""
    match statement:
        case ast.Import(names=items):
            return all(item.name in _MODULES for item in items)
        case ast.ImportFrom(module=str(name), names=items, level=0) if name in _MODULES:
            return all(item.name in _module_members(name) for item in items)
        case _:
            return False


@cache
def _module_members(module: str) -> frozenset[str]:
    # Imported on demand: numpy takes a tenth of a second.
    return frozenset(dir(import_module(module)))


def _mentioned_names(statement: ast.stmt) -> set[str]:
    names = set()
    for node in all_nodes(statement):
        match node:
            case ast.Name(id=name):
                names.add(name)
            case ast.Global(names=several) | ast.Nonlocal(names=several):
                names.update(several)
    return names
