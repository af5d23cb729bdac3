"""Sets of problems by methods: each cell is a study in a folder of its own, which is gone on with where it was left."""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from oragent._base.direction import Direction
from oragent.evals.bench.cases import CaseBenchmark
from oragent.evals.bench.plan import BenchCell, BenchPlan, BenchTerms
from oragent.evals.bench.result import Measure
from oragent.evals.formulate.contestants import FormulateBenchSettings, options_of
from oragent.evals.formulate.mock_models import expand_errors, open_stand_in
from oragent.evals.formulate.sets import ProblemSet, read_set
from oragent.evals.formulate.sets.labelled import FAILED_RUNS, grade_result, slug
from oragent.formulate.formulation import FormulationResult, formulate_case
from oragent.formulate.options import ALL, ROLES, STAND_INS
from oragent.formulate.problem import DEFAULT
from oragent.formulate.running import Bounds, FormulationRunner
from oragent.ledger.case import LedgerCase
from oragent.ledger.study import FinishedCase, open_study
from oragent.llm.model import Model
from oragent.llm.model_settings import RuntimeWords
from oragent.milp.solution import TOLERANCES, SolveVerdict
from oragent.sandbox.sandbox import Sandbox

NO_VALID_MODEL = (SolveVerdict.MODEL_FAILURE, SolveVerdict.UNSOLVED, SolveVerdict.UNSUPPORTED)
TERMS = BenchTerms(
    benchmark="benchmark", subject="set", subjects="sets", contestant="method", contestants="methods",
    modes={"SR": "share of problems whose objective matches the reference"}, answer="model", work="calls",
    noise="problems",
)  # fmt: skip


@dataclass
class FormulateBenchmark(CaseBenchmark):
    """The runner of a plan's cells.

    Attributes:
        plan: What is measured.
        workers: Problems at once.
        note: Told of each problem that is done, in words.
        words: Settings of models and budget from the command line.
    """

    plan: BenchPlan
    workers: int = 1
    note: Callable[[BenchCell, str], None] = lambda cell, text: None
    words: RuntimeWords = field(default_factory=RuntimeWords)
    readable: Sequence[str] = ()
    roles: Sequence[str] = ROLES
    _sets: dict[str, ProblemSet] = field(default_factory=dict)

    @cached_property
    def settings(self) -> FormulateBenchSettings:
        """Settings of the plan."""
        return FormulateBenchSettings.of(self.plan)

    def problems(self, subject: str) -> ProblemSet:
        """The set of a subject, cut to the limit of the plan."""
        if subject not in self._sets:
            problem_set = read_set(str(self.plan.subjects[subject]))
            limit = self.settings.limit
            self._sets[subject] = replace(problem_set, cases=problem_set.cases[:limit]) if limit else problem_set
        return self._sets[subject]

    def cell_folder(self, cell: BenchCell, folder: Path) -> Path:
        """Folder of a cell."""
        return folder / slug(cell.subject) / slug(cell.contestant) / str(cell.seed)

    def case_names(self, cell: BenchCell) -> list[str]:
        """Names of the cases of a cell."""
        cases = self.problems(cell.subject)
        if self._contestant_settings(cell)["model"] == ALL:
            cases, _ = expand_errors(cases)
        return [case.problem.name for case in cases.supported]

    def describe_cell(self, cell: BenchCell, cases: Sequence[FinishedCase]) -> str:
        """Return the success rate."""
        return f"SR {100 * verdict_rates(cases)['SR']:.1f} % of {len(cases)}"

    def score_cell(self, cell: BenchCell, cases: Sequence[FinishedCase]) -> tuple[Measure, float, int]:
        """Return the measure, the success rate, and the number of problems without success."""
        wrong = sum(case.result["verdict"] != SolveVerdict.ACCEPT for case in cases)
        measure = Measure(self.problems(cell.subject).title, Direction.MAXIMIZE)
        return measure, verdict_rates(cases)["SR"], wrong

    @cached_property
    def _find_tolerance(self) -> Any:
        return TOLERANCES[self.settings.tolerance]

    def _contestant_settings(self, cell: BenchCell) -> Mapping[str, Any]:
        return self.plan.contestants[cell.contestant]

    async def _run_cases(self, cell: BenchCell, cell_folder: Path) -> str:
        contestant, settings = self._contestant_settings(cell), self.settings
        cases, options = self.problems(cell.subject), options_of(contestant, settings)
        model: Model | None = None
        is_mock = contestant["model"] in (*STAND_INS, ALL)
        runtime = self.read_runtime("" if is_mock else contestant["model"])
        async with AsyncExitStack() as stack:
            if is_mock:
                standing = open_stand_in(contestant["model"], cases, cell.seed)
                cases, model = standing.cases, standing.model
            case_of = {case.problem.name: case for case in cases.supported}
            opening = open_study(cell_folder, runtime, model=model, seed=cell.seed, workers=self.workers)
            study = await stack.enter_async_context(opening)
            box = stack.enter_context(Sandbox(self.workers))
            runner = FormulationRunner(box, settings.bounds)

            async def run_case(case: LedgerCase) -> object:
                labelled = case_of[case.name]
                result = await formulate_case(case, labelled.problem, options, runner)
                verdict = grade_result(result, labelled.label, self._find_tolerance, options.accept_infeasible)
                return _case_record(result, verdict) | {
                    "prompt_tokens": sum(reply.tokens_in for reply in case.replies),
                    "seconds": sum(reply.seconds for reply in case.replies),
                }

            await study.run_cases(
                list(case_of),
                run_case,
                lambda finished: self.note(cell, f"{finished.name}: {finished.result['verdict']}"),
            )
            return study.stop_reason


def verdict_rates(finished: Sequence[FinishedCase]) -> dict[str, float]:
    """Shares of verdicts: SR, MFFR (no valid model), IEFR (no run) and wrong; they sum to 1."""
    count = max(1, len(finished))
    verdicts = [SolveVerdict(case.result["verdict"]) for case in finished]
    return {
        "SR": verdicts.count(SolveVerdict.ACCEPT) / count,
        "MFFR": sum(verdict in NO_VALID_MODEL for verdict in verdicts) / count,
        "IEFR": sum(verdict in FAILED_RUNS for verdict in verdicts) / count,
        "wrong": verdicts.count(SolveVerdict.WRONG_ANSWER) / count,
    }


def can_read_labels(path: Path) -> bool:
    """Return True if a generated program can read the file with the labels; one program tries."""
    source = f"def solve(data):\n    return {{'x': open({json.dumps(str(path.resolve()))}, 'rb').read(1).hex()}}\n"
    with Sandbox(1) as box:
        ran = FormulationRunner(box, Bounds(program_s=10.0)).run_program(source, DEFAULT, {})
    return ran.verdict is SolveVerdict.UNSOLVED  # it came to its end


def _case_record(result: FormulationResult, verdict: SolveVerdict) -> dict[str, Any]:
    """What is kept of a problem."""
    attempts = []
    for attempt in result.attempts:
        reasons = [finding["reason"] for finding in (attempt["checks"] or {}).get("findings", ())]
        attempts.append([attempt["origin"], attempt["verdict"] or attempt["status"], reasons])
    return {
        "verdict": str(verdict), "status": result.status, "objective": result.objective, "answer": result.answer,
        "message": result.message, "program": result.program, "checks": result.checks, "attempts": attempts,
        "battery": [dict(attempt) for attempt in result.battery],
    }  # fmt: skip
