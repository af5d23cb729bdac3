"""The prompts of every role on one small case; ``python -m tests.formulate.golden_prompts`` writes them anew."""

import asyncio
import tempfile
from pathlib import Path

from oragent._base.budget import Budget
from oragent.formulate.formulation import formulate_case
from oragent.formulate.methods import METHODS
from oragent.formulate.options import EXTRAS, choose_options
from oragent.formulate.problem import ProblemText
from oragent.formulate.running import FormulationRunner
from oragent.ledger import Study
from oragent.llm.callable import Scripted
from oragent.llm.model import Request
from oragent.sandbox.sandbox import Sandbox
from oragent_benchmarks.formulate.baselines import BASELINES
from tests.formulate import pharmacy

FOLDER = Path(__file__).parent / "golden"
BROKEN = pharmacy.WRONG.replace("problem.solve()", "problem.solve(missing)")
SAID = {
    "propose": '["one", "two", "three"]', "score": "5", "unite": "all", "reflection": "Read it again.",
    "optimus_extract": '{"variables": ["p"], "constraints": ["at least 50 painkillers"], "objective": "least medicine"}',
    "optimus_clause": "p \\ge 50", "optimus_code": "```python\nproblem += p >= 50\n```",
    "coe_conductor": "modelling", "coe_expert": "It is linear.", "coe_backward": '{"caused_by_me": true, "refined": "x"}',
    "terminology": '[{"terminology": "pill", "interpretation": "one piece"}]', "conductor": "compiler", "reviewer": "Good.",
}  # fmt: skip


def prompts(runner: FormulationRunner) -> dict[str, str]:
    """The first prompt of every role that any method asks."""
    found: dict[str, str] = {}

    def reply(request: Request, number: int) -> str:
        first = request.role not in found
        found.setdefault(request.role, request.messages[0].content)
        if request.role in SAID:
            return SAID[request.role]
        if request.role in ("supervisor_forward", "optimus_assemble", "coe_reducer", "reflexion", "react") and first:
            return f"```python\n{BROKEN}\n```"
        if request.role == "supervisor_backward" and "Error" in request.messages[0].content:
            return f"```python\n{pharmacy.WRONG}\n```"
        return (
            pharmacy.reply(request, number) if request.role in pharmacy.ROLES else f"```python\n{pharmacy.RIGHT}\n```"
        )

    problem = ProblemText("pharmacy", pharmacy.TEXT, background="A pharmacy.")
    for method in [*METHODS, *BASELINES]:
        for extra in ((), EXTRAS) if method == "ormind" else ((),):
            options = choose_options("default", method=method, extra=extra)

            async def work(case, options=options):
                return (await formulate_case(case, problem, options, runner)).to_plain()

            with Study(Path(tempfile.mkdtemp()), {"": Scripted(reply)}, Budget(evaluations=None)) as study:
                asyncio.run(study.run_cases(["case"], work))
    return found


def main() -> None:
    """Write them."""
    with Sandbox() as box:
        for role, text in prompts(FormulationRunner(box)).items():
            (FOLDER / f"{role}.txt").write_text(f"{text}\n")


if __name__ == "__main__":
    main()
