"""A scripted agent: with a skill it runs the commands of that skill, without one it guesses."""

import json
import subprocess
import sys
from pathlib import Path


def ask(*words: str) -> dict:
    command = [sys.executable, "-m", "oragent", *words, "--json"]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=False).stdout)["result"]


def main() -> None:
    request = sys.stdin.read()
    skills = {path.parent.name for path in Path("skills").glob("*/SKILL.md")}
    answer: dict = {}
    if "rows that cannot hold" in request:
        answer = {"rows": ["orders"]}
        if "explain-infeasible" in skills:
            answer = {
                "rows": [family["family"] for family in ask("model", "plan.lp", "conflict")["results"][0]["families"]]
            }
    elif "largest right-hand side" in request:
        answer = {"orders": 7}
        if "explain-infeasible" in skills:
            answer = {"orders": ask("model", "plan.lp", "repair orders")["results"][0]["changes"][0]["after"]}
    elif "stock of wood" in request:
        answer = {"objective": 17}
        if "model-repository" in skills:
            changed = ask("workspace", "whatif", "shop", "data/stock.csv[wood, amount]=11")
            answer = {"objective": changed["objective"]["after"]["value"]}
    Path("answer.json").write_text(json.dumps(answer))


main()
