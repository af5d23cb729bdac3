"""Programs of the planning team: the exact model in PuLP, as somebody wrote it last year, and as it should be now."""

import re

from oragent.evals.workspace.generating.patches import NewRow, Patch
from oragent.milp.model import Milp
from oragent.workspace import program_codegen
from oragent.workspace.program_codegen import relation_sign, variable_code

TOP = re.compile(r"^def (\w+)\(.*?(?=^\S|\Z)", re.MULTILINE | re.DOTALL)


def program(milp: Milp, title: str, patch: Patch | None = None) -> str:
    """Write a model as a program that prints its objective.

    Args:
        milp: The original; its names are identifiers.
        title: Docstring of the program.
        patch: Revision, whose figures the program reads from the data; None for the original alone.
    """
    if patch is None:
        return program_codegen.program(milp, title)
    changed = {row.name for row in patch.changed}
    rows = [row for row in milp.rows if row.name not in changed]
    calls = ("    add_revised_variables(x)\n", " + revised_objective(x, p)", "    add_revised_rows(problem, x, p)\n")
    return program_codegen.assemble(milp, title, rows, _patched(patch), calls)


def functions(source: str) -> dict[str, str]:
    """The functions at the top of a program by name, white space aside; found as text, nothing is parsed."""
    return {match[1]: " ".join(match[0].split()) for match in TOP.finditer(source)}


def _patched(patch: Patch) -> str:
    declared = [f"    x[{one.name!r}] = {variable_code(one)}" for one in patch.variables]
    terms = [f"        ({figure.program()}) * x[{name!r}]," for name, figure in patch.objective.items()]
    rows = [line for row in (*patch.changed, *patch.rows) for line in _patched_row(row)]
    return (
        '\n\ndef add_revised_variables(x):\n    """Decisions of the revision."""\n'
        + ("\n".join(declared) or "    return")
        + '\n\n\ndef revised_objective(x, p):\n    """What the revision adds to it."""\n    return pulp.lpSum([\n'
        + "\n".join(terms)
        + '\n    ])\n\n\ndef add_revised_rows(problem, x, p):\n    """What has to hold since the revision."""\n'
        + ("\n".join(rows) or "    return")
        + "\n"
    )


def _patched_row(row: NewRow) -> list[str]:
    terms = ", ".join(f"({figure.program()}) * x[{name!r}]" for name, figure in row.terms.items())
    comment = [f"    # {row.sentence}"] if row.sentence else []
    return [
        *comment,
        f"    problem += pulp.lpSum([{terms}]) {relation_sign(str(row.relation))} {row.rhs.program()}, {row.name!r}",
    ]
