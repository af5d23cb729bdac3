"""What the files of this package import and call: each is parsed once in a process of the tests."""

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

__all__ = ["BENCHMARKS", "BENCHMARK_SOURCES", "PACKAGE", "ROOT", "SOURCES", "Source", "source"]

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "oragent"
SOURCES = sorted(PACKAGE.rglob("*.py"))
# The distribution beside the product.
BENCHMARKS = ROOT / "benchmarks" / "oragent_benchmarks"
BENCHMARK_SOURCES = sorted(BENCHMARKS.rglob("*.py"))


@dataclass(frozen=True)
class Source:
    """What tests of the architecture ask of a file.

    Attributes:
        calls: How often each function is called, by its dotted name.
        attributes: Dotted names of all attributes that are looked up.
        modules: Names of modules of ``import`` statements.
        taken: Modules of ``from`` statements, and the names that are taken from them; relative ones begin with dots.
        named: Modules that are imported by a call with their name.
        inside: Lines and names of modules that are imported inside a function.
    """

    calls: Counter[str]
    attributes: frozenset[str]
    modules: frozenset[str]
    taken: tuple[tuple[str, tuple[str, ...]], ...]
    named: frozenset[str]
    inside: tuple[tuple[int, str], ...]


@cache
def source(path: Path) -> Source:
    """Parse a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = list(ast.walk(tree))
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    taken = [node for node in nodes if isinstance(node, ast.ImportFrom)]
    return Source(
        Counter(_dotted(call.func) for call in calls),
        frozenset(_dotted(node) for node in nodes if isinstance(node, ast.Attribute)),
        frozenset(alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names),
        tuple(("." * node.level + (node.module or ""), tuple(alias.name for alias in node.names)) for node in taken),
        frozenset(_named(calls)),
        tuple(_imports_inside(tree)),
    )


def _dotted(node: ast.expr) -> str:
    """The name of what is looked up; what is no name in it is a question mark."""
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else "?"


def _named(calls: list[ast.Call]) -> Iterator[str]:
    for call in calls:
        if _dotted(call.func).rpartition(".")[2] == "import_module":
            yield from (arg.value for arg in call.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str))


def _imports_inside(tree: ast.AST, within: bool = False) -> Iterator[tuple[int, str]]:
    """Imports inside functions. Expressions hold no statement, so they are not visited."""
    for node in ast.iter_child_nodes(tree):
        if within and isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif within and isinstance(node, ast.ImportFrom):
            yield node.lineno, node.module or ""
        elif not isinstance(node, ast.expr):
            yield from _imports_inside(node, within or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
