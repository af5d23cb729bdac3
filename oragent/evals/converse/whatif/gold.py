"""Gold code through an adapter: it is run in the sandbox, and what it changed is solved here."""

import json
from collections.abc import Sequence
from pathlib import Path

from oragent._base.errors import ConfigError, MilpError, SandboxError
from oragent.evals.converse.whatif.questions import Question, WhatIfAnswer
from oragent.evals.converse.whatif.textbooks import BASE, change_of, plain_data, solve_changed, variable_names
from oragent.sandbox.messages import PYTHON, Command, Limits
from oragent.sandbox.sandbox import Sandbox

EXECUTING = Path(__file__).with_name("executing.py")
LIMITS = Limits(cpu_s=60.0, memory_mb=512, file_mb=32, processes=4, output_kb=64)
Gold = list[tuple[WhatIfAnswer | None, str]]


def run_gold(questions: Sequence[Question], box: Sandbox) -> Gold:
    """Run the gold code and solve its changes on our models.

    Returns:
        For each question the answer, or None and why there is none.

    Raises:
        SandboxError: The code could not be run at all.
    """
    requests = [_gold_request(question) for question in questions]
    files = {"executing.py": EXECUTING.read_text(encoding="utf-8"), "questions.json": json.dumps(requests)}
    ended = box(Command((PYTHON, "executing.py"), files, limits=LIMITS, bring=("changes.json",)), warm_up=EXECUTING)
    if "changes.json" not in ended.files:
        raise SandboxError(f"gold code could not be run: {ended.reason or ended.stderr.strip()[-200:]}")
    changes = json.loads(ended.files["changes.json"])
    return [_solve_gold(question, result) for question, result in zip(questions, changes, strict=True)]


def _gold_request(question: Question) -> dict[str, object]:
    data = BASE[question.model]
    sets: dict[str, list[str]] = {}
    if question.model == "coffee":
        sets = {"cafes": [key[0] for key in data["light_coffee_needed_for_cafe"]],
                "roasteries": [key[0] for key in data["roasting_cost_light"]],
                "suppliers": [key[0] for key in data["capacity_in_supplier"]]}  # fmt: skip
    elif question.model == "netflow":
        sets = {"commodities": list(dict.fromkeys(key[0] for key in data["inflow"])),
                "nodes": list(dict.fromkeys(key[1] for key in data["inflow"]))}  # fmt: skip
    return {
        "data": plain_data(question.model), "variables": variable_names(question.model), "sets": sets,
        "data_code": question.data_code, "row_code": question.row_code,
    }  # fmt: skip


def _solve_gold(question: Question, plain: object) -> tuple[WhatIfAnswer | None, str]:
    if isinstance(plain, dict) and "problem" in plain:
        return None, str(plain["problem"])[:300]
    try:
        return solve_changed(question.model, change_of(plain)), ""
    except (ConfigError, MilpError) as problem:
        return None, str(problem)
