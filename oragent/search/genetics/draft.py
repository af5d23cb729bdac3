"""A program while it is being varied, and the tools that the operators share."""

import ast
import builtins
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from oragent._base.trees import all_nodes, tree_of
from oragent.search.genetics.sites import Site, Sites, find_sites

T = TypeVar("T")

MAX_POWER = 12.0  # 1 / d ** 12 is still finite for instance data of any reasonable scale
MODULES = {"np": "numpy", "math": "math", "torch": "torch"}  # what is imported when a program comes to need it


@dataclass
class Draft:
    """A program being varied."""

    tree: ast.Module  # tree of the program; operators change it in place
    function: str  # name of the function that evolves
    primitives: Sequence[str]  # expressions over its parameters, as text
    mate: str | None  # text of the other parent, or None
    rng: np.random.Generator  # only source of randomness
    sites: Sites = field(default_factory=Sites)  # places of ``tree`` as they were when ``look`` was last called

    def look(self) -> None:
        """Find the places of the tree as it is now."""
        self.sites = find_sites(self.tree, self.function)

    @property
    def torch(self) -> bool:
        """True if the program computes with torch instead of numpy."""
        names = [item.name for node in self.tree.body if isinstance(node, ast.Import) for item in node.names]
        return "torch" in names and "numpy" not in names

    def pick(self, items: Sequence[T]) -> T:
        """Draw one of the items."""
        return items[int(self.rng.integers(len(items)))]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """Return the items in random order."""
        return [items[int(index)] for index in self.rng.permutation(len(items))]

    def weighted(self, items: Sequence[T], weights: Sequence[float]) -> T:
        """Draw one of the items with probability proportional to its weight, of which one is positive."""
        bounds = np.cumsum(weights)
        return items[int(np.searchsorted(bounds, self.rng.random() * bounds[-1], side="right"))]

    def chance(self, share: float) -> bool:
        """Say yes in this share of cases."""
        return bool(self.rng.random() < share)

    def number(self, centre: float, spread: float) -> float:
        """Draw a log-normal number around ``centre``."""
        return round_to_three(centre * float(np.exp(spread * self.rng.standard_normal())))

    def choose(self, sites: Sequence[Site]) -> Site:
        """Draw a place, in half of the cases one that holds a whole result."""
        results = [site for site in sites if site.context.root]
        return self.pick(results if results and self.chance(0.5) else sites)

    def define(self, site: Site, value: ast.expr, name: str) -> ast.Name:
        """Insert an assignment before the statement of ``site``, and return the new variable."""
        taken = {node.id for node in all_nodes(self.tree) if isinstance(node, ast.Name)}
        taken |= {node.arg for node in all_nodes(self.tree) if isinstance(node, ast.arg)}
        fresh = next(text for text in (name, *(f"{name}{number}" for number in range(2, 999))) if text not in taken)
        block, statement = site.block
        position = next(index for index, candidate in enumerate(block) if candidate is statement)
        block.insert(position, ast.Assign([ast.Name(fresh, ast.Store())], value, lineno=0))
        return ast.Name(fresh, ast.Load())


def round_to_three(value: float) -> float:
    """Round to three significant digits, so that programs stay readable."""
    return float(f"{value:.3g}")


def build_expression(text: str, **parts: ast.expr) -> ast.expr:
    """Parse an expression in which ``{name}`` stands for the part of that name."""
    texts = {name: f"({ast.unparse(part)})" for name, part in parts.items()}
    return tree_of(text.format(**texts), mode="eval").body


def count_nodes(node: ast.AST) -> int:
    """Count the nodes of a tree."""
    return len(all_nodes(node))


def fits_shape(site: Site, node: ast.expr) -> bool:
    """Tell whether ``node`` may stand in the place of what ``site`` holds, as far as shapes are known."""
    shape = site.facts.shape(node)
    return shape == site.shape and not (shape is None and isinstance(node, ast.Constant))


def is_reachable(site: Site, node: ast.expr) -> bool:
    """Tell whether all names in ``node`` are bound at ``site``, or can be by an import."""
    return all(name in site.context.visible or name in MODULES or hasattr(builtins, name) for name in free_names(node))


def free_names(node: ast.AST) -> list[str]:
    """Return the names that an expression uses and does not bind itself."""
    names = [child for child in all_nodes(node) if isinstance(child, ast.Name)]
    bound = {child.id for child in names if not isinstance(child.ctx, ast.Load)}
    bound |= {child.arg for child in all_nodes(node) if isinstance(child, ast.arg)}
    return [child.id for child in names if child.id not in bound]
