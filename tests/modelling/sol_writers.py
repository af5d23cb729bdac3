"""Solution files as HiGHS, Gurobi, SCIP and CPLEX write them."""

import html
import math
from collections.abc import Mapping


def write_highs(values: Mapping[str, float], objective: float | None) -> str:
    lines = ["Model status", "Unknown", "", "# Primal solution values", "Feasible"]
    lines.append(f"Objective {0.0 if objective is None else objective!r}")
    lines.append(f"# Columns {len(values)}")
    lines += [f"{name} {value!r}" for name, value in values.items()]
    return "\n".join([*lines, "# Rows 0", "", "# Dual solution values", "None", ""])


def write_gurobi(values: Mapping[str, float], objective: float | None) -> str:
    head = [] if objective is None else [f"# Objective value = {objective!r}"]
    return "\n".join([*head, *(f"{name} {value!r}" for name, value in values.items())]) + "\n"


def write_scip(values: Mapping[str, float], objective: float | None) -> str:
    head = ["solution status: unknown"]
    head += [] if objective is None else [f"objective value: {objective!r}"]
    used = [f"{name} {value!r} \t(obj:0)" for name, value in values.items() if value]
    return "\n".join([*head, *used]) + "\n"


def write_cplex(values: Mapping[str, float], objective: float | None) -> str:
    lines = ['<?xml version = "1.0" encoding="UTF-8" standalone="yes"?>', '<CPLEXSolution version="1.2">']
    stated = "" if objective is None or not math.isfinite(objective) else f' objectiveValue="{objective!r}"'
    lines += [f' <header problemName="" solutionName="incumbent"{stated}/>', " <variables>"]
    for index, (name, value) in enumerate(values.items()):
        lines.append(f'  <variable name="{html.escape(name)}" index="{index}" value="{value!r}"/>')
    return "\n".join([*lines, " </variables>", "</CPLEXSolution>", ""])
