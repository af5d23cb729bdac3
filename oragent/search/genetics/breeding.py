"""Vary a program of which nothing is known but its text, and single functions of candidates that have several."""

import ast
import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from oragent._base.errors import CandidateError
from oragent.evaluation.problem import Problem
from oragent.programs.inspection import fit_to_frame, mark_safe, parse_expression
from oragent.programs.inspection import parse_tree as parsed
from oragent.programs.parts import join_files, split_files
from oragent.programs.syntax import Signature
from oragent.search.genetics.draft import MODULES, free_names
from oragent.search.genetics.variation import Offspring, room, vary


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
    """Breed a child of a candidate; nothing is drawn for one that is a single function in a single file.

    What a problem fixes of its candidates is put back where the child is evaluated.

    Args:
        parent: Program that passes inspection.
        mate: Another one that a sub-expression may be taken from.
        signature: What candidates must define.
        seed: Seed heuristic, whose length bounds that of its descendants.
        primitives: Expressions over the parameters of the function.
        rng: Only source of randomness.
        best: Best program so far, whose length bounds it too; None where it is not known.

    Raises:
        CandidateError: ``parent`` or ``mate`` does not parse.
    """
    names, functions = signature.files or ("heuristic.py",), signature.functions
    function = functions[int(rng.integers(len(functions)))] if len(functions) > 1 else functions[0]
    if len(names) == 1:
        return vary(parent, mate, function=function, primitives=primitives, rng=rng, most=room(seed, best))
    files, others, begun, top = (split_files(text, names) if text else {} for text in (parent, mate, seed, best))
    home = next((name for name in names if _defines_function(files.get(name, ""), function)), names[0])
    for text in (files[home], others.get(home), begun.get(home), top.get(home)):
        if text:
            mark_safe(text)  # a file of a program that was looked at file by file
    child = vary(
        files[home],
        others.get(home),
        function=function,
        primitives=primitives,
        rng=rng,
        most=room(begun[home], top.get(home)),
    )
    source = join_files({name: child.source if name == home else files[name] for name in names})
    mark_safe(source)
    return Offspring(source, child.operator)


def _defines_function(text: str, function: str) -> bool:
    return re.search(rf"^def {re.escape(function)}\b", text, re.MULTILINE) is not None


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
