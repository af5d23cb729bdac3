"""Call ``formulate(m, data)`` of a program and write the model that it built. This script runs in the sandbox.

Other processes read its output as data and solve the model. Whole programs also use the modules that this script
imports in advance.
"""

import json
from pathlib import Path

import highspy  # noqa: F401
import numpy  # noqa: F401
import pulp


def main() -> None:
    """Build the model of ``program.py`` with the data of ``data.json``, and write it to ``result.json``."""
    source = Path("program.py").read_text(encoding="utf-8")
    data = json.loads(Path("data.json").read_text(encoding="utf-8"))
    names: dict[str, object] = {"pulp": pulp, "__name__": "program"}
    exec(compile(source, "program.py", "exec"), names)
    formulate = names.get("formulate")
    if not callable(formulate):
        raise SystemExit("the program defines no function formulate(m, data)")
    m = pulp.LpProblem("model", pulp.LpMinimize)
    formulate(m, data)
    plain = m.toDict() if hasattr(m, "toDict") else m.to_dict()
    constant = m.objective.constant if m.objective is not None else 0.0
    Path("result.json").write_text(json.dumps({"model": plain, "constant": constant}), encoding="utf-8")


if __name__ == "__main__":
    main()
