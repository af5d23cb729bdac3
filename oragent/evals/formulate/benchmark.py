"""Sets of problems by methods: each cell is a study in a folder of its own, which is gone on with where it was left."""

import json
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from oragent._base.direction import Direction
from oragent.evals.bench.plan import BenchCell, BenchPlan
from oragent.evals.bench.result import BenchResult, Measure, ModeScore
from oragent.evals.bench.studies import Studies, budget_of
from oragent.evals.bench.terms import BenchTerms
from oragent.evals.formulate.contestants import options_of
from oragent.evals.formulate.grading import FAILED_RUNS, grade
from oragent.evals.formulate.mock_models import expanded, stand_in
from oragent.evals.formulate.sets import ProblemSet, read_set
from oragent.evals.formulate.sets.labelled import slug
from oragent.formulate.formulation import FormulationResult, formulated
from oragent.formulate.interface import DEFAULT
from oragent.formulate.options import ALL, STAND_INS
from oragent.formulate.running import Bounds, FormulationRunner
from oragent.ledger.case import LedgerCase
from oragent.ledger.runtime import open_study
from oragent.ledger.study import Finished
from oragent.llm.model import Model
from oragent.llm.model_settings import ModelSettings
from oragent.llm.runtime_settings import RuntimeSettings
from oragent.milp.verdict import TOLERANCES, SolveVerdict
from oragent.sandbox.border import Sandbox

TERMS = BenchTerms(
    benchmark="benchmark", subject="set", subjects="sets", contestant="method", contestants="methods",
    modes={"SR": "share of problems whose objective matches the reference"}, answer="model", work="calls",
    noise="problems",
)  # fmt: skip


@dataclass
class FormulateBenchmark(Studies):
    """The runner of a plan's cells.

    Attributes:
        plan: What is measured.
        workers: Problems at once.
        note: Told of each problem that is done, in words.
    """

    plan: BenchPlan
    workers: int = 1
    note: Callable[[BenchCell, str], None] = lambda cell, text: None
    _sets: dict[str, ProblemSet] = field(default_factory=dict)

    def problems(self, subject: str) -> ProblemSet:
        """The set of a subject, cut to the limit of the plan."""
        if subject not in self._sets:
            found = read_set(str(self.plan.subjects[subject]))
            most = self.plan.settings.get("limit")
            self._sets[subject] = replace(found, cases=found.cases[:most]) if most else found
        return self._sets[subject]

    def cell_folder(self, cell: BenchCell, folder: Path) -> Path:
        """Folder of a cell."""
        return folder / slug(cell.subject) / slug(cell.contestant) / str(cell.seed)

    def case_names(self, cell: BenchCell) -> list[str]:
        """Names of the cases of a cell."""
        cases = self.problems(cell.subject)
        if self._own(cell)["model"] == ALL:
            cases, _ = expanded(cases)
        return [case.problem.name for case in cases.supported]

    def finish(self, cell: BenchCell, folder: Path) -> str:
        """Say what came of the cell."""
        done = self.finished_cases(cell, folder)
        return f"SR {100 * rates(done)['SR']:.1f} % of {len(done)}" if done else ""

    def read(self, cell: BenchCell, folder: Path) -> BenchResult:
        """What a complete cell came to."""
        done = self.finished_cases(cell, folder)
        wrong = sum(one.result["verdict"] != SolveVerdict.ACCEPT for one in done)
        measure = Measure(self.problems(cell.subject).title, Direction.MAXIMIZE)
        return self.make_result(cell, folder, measure, {"SR": ModeScore(rates(done)["SR"])}, wrong)

    @cached_property
    def _tolerance(self) -> Any:
        return TOLERANCES[self.plan.settings.get("tolerance", "strict")]

    def _own(self, cell: BenchCell) -> Mapping[str, Any]:
        return self.plan.contestants[cell.contestant]

    async def _run_cases(self, cell: BenchCell, cell_folder: Path) -> str:
        own, settings = self._own(cell), self.plan.settings
        cases, options = self.problems(cell.subject), options_of(own, settings)
        model: Model | None = None
        runtime = RuntimeSettings(budget=budget_of(settings))
        async with AsyncExitStack() as stack:
            if own["model"] in (*STAND_INS, ALL):
                standing = stand_in(own["model"], cases, cell.seed)
                cases, model = standing.cases, standing.model
            else:
                runtime = replace(runtime, model=ModelSettings.bounded(own["model"], settings))
            known = {case.problem.name: case for case in cases.supported}
            opening = open_study(cell_folder, runtime, model=model, seed=cell.seed, workers=self.workers)
            study = await stack.enter_async_context(opening)
            box = stack.enter_context(Sandbox(self.workers))
            runner = FormulationRunner(box, Bounds(**settings.get("bounds", {})))

            async def work(case: LedgerCase) -> object:
                labelled = known[case.name]
                found = await formulated(case, labelled.problem, options, runner)
                verdict = grade(found, labelled.label, self._tolerance, options.accept_infeasible)
                return _record(found, verdict) | {
                    "prompt_tokens": sum(reply.tokens_in for reply in case.replies),
                    "seconds": sum(reply.seconds for reply in case.replies),
                }

            await study.run(list(known), work, lambda one: self.note(cell, f"{one.name}: {one.result['verdict']}"))
            return study.reason


def rates(done: list[Finished]) -> dict[str, float]:
    """Shares of verdicts: SR, MFFR (no valid model), IEFR (no run) and wrong; they sum to 1."""
    count = max(1, len(done))
    verdicts = [SolveVerdict(one.result["verdict"]) for one in done]
    return {
        "SR": verdicts.count(SolveVerdict.ACCEPT) / count,
        "MFFR": sum(verdict in (SolveVerdict.MODEL_FAILURE, SolveVerdict.UNSOLVED) for verdict in verdicts) / count,
        "IEFR": sum(verdict in FAILED_RUNS for verdict in verdicts) / count,
        "wrong": verdicts.count(SolveVerdict.WRONG_ANSWER) / count,
    }


def labels_readable(path: Path) -> bool:
    """Whether a generated program could read the file with the labels here: one is run that tries."""
    source = f"def solve(data):\n    return {{'x': open({json.dumps(str(path.resolve()))}, 'rb').read(1).hex()}}\n"
    with Sandbox(1) as box:
        ran = FormulationRunner(box, Bounds(program_s=10.0)).program(source, DEFAULT, {})
    return ran.verdict is SolveVerdict.UNSOLVED  # it came to its end


def _record(found: FormulationResult, verdict: SolveVerdict) -> dict[str, Any]:
    """What is kept of a problem."""
    attempts = []
    for one in found.attempts:
        reasons = [finding["reason"] for finding in (one["checks"] or {}).get("findings", ())]
        attempts.append([one["origin"], one["verdict"] or one["status"], reasons])
    return {
        "verdict": str(verdict), "status": found.status, "objective": found.objective, "answer": found.answer,
        "message": found.message, "program": found.program, "checks": found.checks, "attempts": attempts,
        "battery": [dict(one) for one in found.battery],
    }  # fmt: skip
