"""What ``gp`` varies of a candidate that is more than one function in one file: one function, in its file."""

import re
from collections.abc import Sequence

import numpy as np

from oragent.programs.inspection import mark_safe
from oragent.programs.parts import join_files, split_files
from oragent.programs.syntax import Signature
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
