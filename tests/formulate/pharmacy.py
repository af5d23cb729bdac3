"""A published case (Wang et al. 2025): the first program misreads one row, the checker names it, the revision is right."""

from oragent.llm.model import Request

TEXT = """A pharmacy has 3000 mg of morphine to make painkillers and sleeping pills. Each painkiller pill requires 10 mg
of morphine and 3 units of digestive medicine while each sleeping pill requires 6 mg of morphine and 5 units of digestive
medicine. The pharmacy needs to make at least 50 painkiller pills. Since sleeping pills are more popular, at least 70% of
the pills should be sleeping pills. How many of each should the pharmacy make to minimize the total amount of digestive
medicine needed?"""
PROGRAM = """
import pulp

def solve(data):
    problem = pulp.LpProblem("pharmacy", pulp.LpMinimize)
    p = pulp.LpVariable("painkillers", lowBound=0, cat="Integer")
    s = pulp.LpVariable("sleeping_pills", lowBound=0, cat="Integer")
    problem += 3 * p + 5 * s
    problem += 10 * p + 6 * s <= 3000, "morphine"
    problem += p >= 50, "painkillers_least"
    problem += {row}, "share"
    problem.solve()
    return {{"status": pulp.LpStatus[problem.status], "objective_value": pulp.value(problem.objective),
            "optimized_vars": {{"painkillers": p, "sleeping_pills": s}}}}
"""
WRONG = PROGRAM.format(row="3 * p + 5 * s >= 0.7 * (p + s)")
RIGHT = PROGRAM.format(row="s >= 0.7 * (p + s)")
CHECKER = """
def checks(values, data):
    p, s = values["painkillers"], values["sleeping_pills"]
    yield ("morphine", 10 * p + 6 * s, "<=", 3000, "3000 mg of morphine")
    yield ("painkillers", p, ">=", 50, "at least 50 painkiller pills")
    yield ("share", s, ">=", 0.7 * (p + s), "at least 70% of the pills should be sleeping pills")
    yield ("no less than none", s, ">=", 0, "")
    yield ("whole painkillers", p, "integer", None, "pills")
    yield ("whole sleeping pills", s, "integer", None, "pills")
    yield ("medicine", 3 * p + 5 * s, "minimize", None, "minimize the total amount of digestive medicine")
"""
ENCODED = '{"Morphine": {"Type": "integer", "Definition": "mg at hand", "Unit": "mg", "Kind": "scalar", "Value": 3000}}'
MODEL = (
    '{"VARIABLES": ["painkillers: pills, integer"], "CONSTRAINTS": ["share: s >= 0.7 (p + s) -- at least 70% of the '
    'pills should be sleeping pills"], "OBJECTIVE": "minimize: 3 p + 5 s"}'
)


ROLES = (
    "semantic_encoder", "formalization", "compiler", "supervisor_forward", "counterfactual", "supervisor_backward",
    "syntax_analysis",
)  # fmt: skip


def reply(request: Request, number: int) -> str:
    """What a model says that misreads one row, and mends it when the row is named."""
    said = {
        "semantic_encoder": f"```json\n{ENCODED}\n```",
        "formalization": f"```json\n{MODEL}\n```",
        "program": f"```python\n{WRONG}\n```",
        "compiler": f"```python\n{WRONG}\n```",
        "supervisor_forward": f"```python\n{WRONG}\n```",
        "counterfactual": f"```python\n{CHECKER}\n```",
        "supervisor_backward": f"```python\n{RIGHT}\n```",
        "syntax_analysis": "1. a name 2. that line",
    }
    return said[request.role]


def speaks(messages: list[dict[str, str]]) -> str:
    """A model as a function: it tells the roles apart by what they ask for."""
    asked = messages[0]["content"]
    if "<feedback>" in asked:
        return f"```python\n{RIGHT}\n```"
    if "`checks(values, data)`" in asked:
        return f"```python\n{CHECKER}\n```"
    if "two fenced blocks" in asked:
        return f"```json\n{{}}\n```\n```python\n{WRONG}\n```"
    if "JSON object" in asked:
        return ENCODED if '"Type"' in asked else MODEL
    return f"```python\n{WRONG}\n```"
