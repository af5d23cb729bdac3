"""Where the public release lies, if it does; and a synthetic release of ours in its layout."""

import json
from pathlib import Path

import pytest

PUBLIC = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "orspace"
needs_release = pytest.mark.skipif(not PUBLIC.is_dir(), reason="the public release of OR-Space is not here")

PARAMETERS = "Parameter_Name,Value,Unit,Context_Description\nflour,{flour},kg,what there is\n"
TABLE = "loaf,price (EUR),flour (kg)\nrye,4,{need}\nwheat,3,1\n"
PROGRAM = "import utils\nprint('OBJECTIVE_VALUE:', utils.bake())\n"
UTILITIES = "import pandas as pd\n\ndef bake():\n    return 1\n"
FORMULATION = "\\max 4 r + 3 w : {need} r + w \\le {flour}\n"


def put(folder: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)


def version(number: int, revised: bool, size: int = 1) -> dict[str, str]:
    """Documents and data of one version: bread for the best price, the revision doubling the flour of rye."""
    needs = {"flour": str(97 * number * size), "need": "2" if revised else "1"}
    story = "The baker sells loaves for the best price." + (" Rye now takes twice the flour." if revised else "")
    return {
        "docs/business_requirement.md": f"{story}\n",
        "data/general_parameters.csv": PARAMETERS.format(**needs),
        "data/table_1.csv": TABLE.format(**needs),
    }


def optimum(number: int, revised: bool) -> float:
    """Of four a loaf of rye and three a loaf of wheat, for one (revised: two) and one kilogram of flour."""
    return (3.0 if revised else 4.0) * 97 * number


def record(number: int, revised: bool) -> dict[str, str]:
    value = optimum(number, revised)
    needs = {"flour": str(97 * number), "need": "2" if revised else "1"}
    solution = {
        "solver": "highs", "model_name": "bread", "status": "2", "pulp_status": "Optimal", "objective_value": value,
        "variables": {"rye": {"value": 0.0, "reduced_cost": -2.0}},
        "constraints": {"flour": {"sense": "<=", "slack": 0.0, "dual_value": 3.0}},
    }  # fmt: skip
    execution = {"returncode": 0, "objective_value": value, "stdout": f"OBJECTIVE_VALUE: {value}\n", "stderr": ""}
    return {
        "src/formulation.tex": FORMULATION.format(**needs),
        "logs/execution_record.json": json.dumps(execution),
        "logs/solver_output.log": f"OBJECTIVE_VALUE: {value}\n",
        "solver_records/bread.solution.json": json.dumps(solution),
        "solver_records/bread.lp_relaxation.json": json.dumps(solution),
    }


def below(folder: str, files: dict[str, str]) -> dict[str, str]:
    return {f"{folder}/{path}": text for path, text in files.items()}


def rubric(number: int) -> dict:
    return {
        "workspace_id": f"or_space_{number:03d}_explain", "instance_id": f"OR_explain_{number:03d}",
        "instance_number": number, "dimension": "Comparative Dynamics", "multi_hop_path": "docs -> data -> solver",
        "question": f"Why does bakery {number} earn less than before, and what of rye?",
        "expected_short_answer": f"Bakery {number} earns less as rye takes two kilograms, so that wheat alone is baked.",
        "checklist": [
            {"criterion_id": "c1", "checklist_type": "exact_match", "criterion": "Must name both loaves of the bakery",
             "target_entities": ["rye", "wheat"]},
            {"criterion_id": "c2", "checklist_type": "llm_boolean_judgment", "criterion": "Says that rye is dropped now",
             "instruction_for_judge": "A hit where no rye is said to be baked any more."},
        ],
    }  # fmt: skip


def synthetic(root: Path, count: int = 3, programs: bool = False) -> Path:
    """Write a release of our own, in the layout of the public one, with or without programs."""
    rows: dict[str, list[str]] = {"build": [], "revise": []}
    for number in range(1, count + 1):
        first, second = version(number, False), version(number, True)
        code = {"src/current_heuristic.py": PROGRAM, "src/utils.py": UTILITIES} if programs else {}
        explain_code = {"src/optimization_model.py": PROGRAM, "src/utility_code.py": "#\n"} if programs else {}
        question = {"dimension": "Comparative Dynamics", "question": rubric(number)["question"], "expected": "hidden"}
        folders = {
            "build": {**first, "src/.gitkeep": "", "metadata.json": json.dumps({"instance_id": f"bread_{number}", "reference": 1})},
            "revise": {
                **below("original", {**first, **code}), **below("revised", {**second, "src/.gitkeep": ""}),
                "metadata.json": json.dumps({"instance_id": f"bread_{number}_revised", "revise_type": "R5",
                                             "revise_description": "Rye now takes more flour."}),
            },
            "explain": {
                **below("original", {**first, **record(number, False), **explain_code}),
                **below("revised", {**second, **record(number, True), **explain_code}),
                "metadata.json": json.dumps({"instance_id": f"OR_explain_{number:03d}", "explain_task": question}),
            },
        }  # fmt: skip
        for mode, files in folders.items():
            put(root / "Workspace_OR" / f"{mode}_workspaces" / f"instance_{number}", files)
        for mode, values in rows.items():
            value = optimum(number, mode == "revise")
            values.append(f"or_space_{number:03d}_{mode},{mode},{number},bread_{number},{value},0.01")
    header = "workspace_id,task_type,instance_number,instance_id,reference_objective,relative_tolerance"
    for mode, lines in rows.items():
        path = f"evaluation/{mode}_evaluation/reference_objectives.csv"
        put(root, {path: "\n".join([header, *lines]) + "\n"})
    rubrics = "".join(json.dumps(rubric(number)) + "\n" for number in range(1, count + 1))
    put(root, {"evaluation/explain_evaluation/rubrics.jsonl": rubrics, "README.md": "synthetic\n"})
    return root
