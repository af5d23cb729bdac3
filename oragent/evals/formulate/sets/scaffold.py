"""The scaffold of a ComplexOR problem: data unpacked and results extracted; what is left out is what is to be written.

The published scaffolds declare the variables too. Those are not in the data, so ours are made from the parameters
alone, and figures got with them are not to be held against the published ones.
"""

import keyword
import re
from collections.abc import Mapping, Sequence
from typing import Any

from oragent.formulate.interface import Form, ProgramInterface
from oragent.report.pages.text import one_line

MARK = "# TO DO: variables (into `variables`), the objective, and every constraint with a short name"
BODY = """import pulp


def solve(data):
{unpacked}
    problem = pulp.LpProblem("model", {sense}
    variables = {{}}  # by the name of a decision the PuLP variable itself, or a dict or list of them

    {mark}

    problem.solve()
    return {{
        "status": pulp.LpStatus[problem.status],
        "objective_value": pulp.value(problem.objective),
        "optimized_vars": variables,
    }}
"""
SENSES = {"min": "pulp.LpMinimize)", "max": "pulp.LpMaximize)"}
TAKEN = {"data", "problem", "pulp", "solve", "variables"}  # names that the scaffold itself needs
SENSE = re.compile(r"\b(min|max)imi[sz]")
UNKNOWN = "pulp.LpMinimize)  # or pulp.LpMaximize"


def scaffold(data: Mapping[str, Any], parameters: Any, texts: Sequence[str]) -> ProgramInterface:
    """The interface of a record.

    Args:
        data: What the program is called with.
        parameters: The record's list of ``symbol``, ``definition`` and ``shape``; anything else counts as none.
        texts: What is to be made large or small, in words: the first that names one of both, and not the other, counts.
    """
    listed = parameters if isinstance(parameters, list) else []
    shapes = {str(one.get("symbol")): one.get("shape") for one in listed if isinstance(one, dict)}
    unpacked = "\n".join(
        f"    {name} = data[{name!r}]{shape_of(shapes.get(name)).replace(',', '  #', 1)}"
        for name in data
        if name.isidentifier() and name.isascii() and not keyword.iskeyword(name) and name not in TAKEN
    )
    named = [set(SENSE.findall(text.lower())) for text in texts]
    sense = next((SENSES[words.pop()] for words in named if len(words) == 1), UNKNOWN)
    unpacked = unpacked or "    # the data have no names that can be unpacked"
    source = BODY.format(unpacked=unpacked, sense=sense, mark=MARK).strip()
    return ProgramInterface("solve", ("data",), source, Form.SCAFFOLD)


def shape_of(shape: Any, before: str = ", ") -> str:
    """A shape in words, on one line; empty of a single number."""
    if not isinstance(shape, list) or not shape:
        return ""
    return f"{before}shape ({', '.join(one_line(str(part), 40) for part in shape[:6])})"
