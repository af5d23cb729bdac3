"""ComplexOR in two editions: 37 problems (Wang et al. 2025) and 18 (Xiao et al. 2024); they are never mixed.

The published scaffolds declare the variables too. Variables are not in the data, so our scaffolds are made from the
parameters alone, and results with them are not comparable with the published ones.
"""

import json
import keyword
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from oragent._base.errors import ProblemError
from oragent._base.plain import one_line
from oragent.evals.formulate.sets.labelled import Labelled, ProblemSet, label_of, read_figure, slug
from oragent.formulate.data import read_text, show_path
from oragent.formulate.problem import Form, ProblemText, ProgramInterface

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


def build_scaffold(data: Mapping[str, Any], parameters: Any, texts: Sequence[str]) -> ProgramInterface:
    """The interface of a record.

    Args:
        data: What the program is called with.
        parameters: The record's list of ``symbol``, ``definition`` and ``shape``; anything else counts as none.
        texts: What is to be made large or small, in words: the first that names one of both, and not the other, counts.
    """
    listed = parameters if isinstance(parameters, list) else []
    shapes = {
        str(parameter.get("symbol")): parameter.get("shape") for parameter in listed if isinstance(parameter, dict)
    }
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


def shape_of(shape: Any, prefix: str = ", ") -> str:
    """A shape in words, on one line; empty of a single number."""
    if not isinstance(shape, list) or not shape:
        return ""
    return f"{prefix}shape ({', '.join(one_line(str(part), 40) for part in shape[:6])})"


PARAMETER = re.compile(r"\\param\{([^}]*)\}")


def read_complexor(path: Path) -> ProblemSet:
    """Read the file, a record a line; the program is called with the record's ``input``.

    Raises:
        ProblemError: A line is no JSON.
    """
    cases, left_out = [], []
    for line_number, text in enumerate(read_text(path, "ComplexOR's problems").splitlines(), 1):
        if not text.strip():
            continue
        try:
            record = json.loads(text)
        except json.JSONDecodeError as problem:
            raise ProblemError(f"{show_path(path)}, line {line_number}: no JSON ({problem.msg})") from None
        answer, words = read_figure(record.get("output")), _problem_text(record)
        if not words.strip() or answer is None or not isinstance(record.get("input"), dict):
            left_out.append(f"line {line_number}: no description, input or output that can be used")
            continue
        background = str(record.get("background") or "")
        form = build_scaffold(record["input"], record.get("parameters"), [str(record.get("objective")), words])
        name = slug(str(record.get("id", line_number)))
        cases.append(Labelled(ProblemText(name, words, record["input"], form, background), label_of(answer)))
    title = (
        f"{len(cases)} problems of {path.name}; the published scaffolds declare the variables too, ours cannot: not to "
        "be held against the published figures"
    )
    return ProblemSet(slug(path.stem), title, tuple(cases), tuple(left_out), path)


def _problem_text(record: dict[str, Any]) -> str:
    parts = [PARAMETER.sub(r"\1", str(record.get("description") or ""))]
    parameters = record.get("parameters")
    usable = [
        parameter for parameter in (parameters if isinstance(parameters, list) else ()) if isinstance(parameter, dict)
    ]
    told_of = [
        f"- {parameter.get('symbol')}: {parameter.get('definition')}{shape_of(parameter.get('shape'))}"
        for parameter in usable
    ]
    parts += ["\nParameters:", *told_of] if usable else []
    for name in ("constraints", "objective"):
        content = record.get(name)
        lines = content if isinstance(content, list) else [content] if content else []
        head = [f"\n{name.capitalize()}:"] if lines else []
        parts += head + [f"- {PARAMETER.sub(chr(92) + '1', str(item))}" for item in lines]
    return "\n".join(parts)
