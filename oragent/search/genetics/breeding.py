"""Vary a program of which nothing is known but its text: what the scripted model writes with."""

import ast
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from oragent._base.errors import CandidateError
from oragent.evaluation.problem import Problem
from oragent.programs.inspection import fit_to_frame, parse_expression
from oragent.programs.inspection import parse_tree as parsed
from oragent.search.genetics.draft import MODULES, free_names
from oragent.search.genetics.units import vary_unit
from oragent.search.genetics.variation import Offspring, room, vary


def breed_child(source: str, seed: int, quoted: Sequence[str] = ()) -> str:
    """Breed a child of a program, whose last function is taken for the one that evolves; as it is if it has none.

    Args:
        source: Text of the program.
        seed: Seed of the variation.
        quoted: Texts of which those that are expressions over the function's parameters may be inserted.
    """
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
    """Breed a child of a problem's seed heuristic, as a search that has just begun does."""
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
