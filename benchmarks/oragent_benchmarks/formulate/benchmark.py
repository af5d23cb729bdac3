"""Benchmark of methods on sets of problems. Each cell is a study in its own folder and can be resumed.

Published results are those of Wang et al. 2025, tables 1 to 3. They used GPT-3.5-turbo unless stated otherwise.
"""

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from pydantic.dataclasses import dataclass as checked

from oragent._base.direction import Direction
from oragent._base.errors import ModellingError
from oragent._base.settings import STRICT
from oragent.evals.bench.plan import BenchCell, BenchTerms
from oragent.evals.bench.result import Measure
from oragent.formulate.formulation import FormulationResult, formulate_case
from oragent.formulate.methods import METHODS
from oragent.formulate.options import ALL, EXTRAS, PARTS, ROLES, STAND_INS, Options, check_known, choose_options
from oragent.formulate.problem import DEFAULT
from oragent.formulate.running import Bounds, FormulationRunner
from oragent.formulate.spending import list_profiles
from oragent.ledger.case import LedgerCase
from oragent.ledger.study import FinishedCase
from oragent.llm.model import Model, estimate_tokens
from oragent.modelling.data.solution import TOLERANCES, SolveVerdict
from oragent.modelling.solving.model_solving import solve
from oragent.sandbox.sandbox import Sandbox
from oragent_benchmarks.cases import CaseBenchmark, CaseCalls, CaseSettings, Work
from oragent_benchmarks.formulate.baselines import BASELINES
from oragent_benchmarks.formulate.labelled import FAILED_RUNS, Labelled, ProblemSet, grade_result, slug
from oragent_benchmarks.formulate.mock_models import expand_errors, open_stand_in
from oragent_benchmarks.formulate.sets import read_set

# Rows of the published table of ablations, in its order.
ABLATIONS: tuple[Mapping[str, Any], ...] = (
    {"method": "ormind"},
    *({"method": "ormind", "with": [name]} for name in EXTRAS),
    *({"method": "ormind", "without": [name]} for name in PARTS if name not in ("compiler", "supervisor")),
    {"method": "standard"},
)


# SR with GPT-4, and prompt tokens per problem (mean and standard deviation), by set.
GPT_4: Mapping[str, Mapping[str, float]] = {
    "nl4opt": {"standard": 47.3, "reflexion": 53.0, "coe": 64.2, "optimus": 78.8, "ormind": 79.9},
    "complexor": {"standard": 4.9, "reflexion": 16.8, "coe": 31.4, "optimus": 66.7, "ormind": 62.2},
}
PROMPT_TOKENS: Mapping[str, Mapping[str, tuple[int, int]]] = {
    "nl4opt": {
        "coe": (2003, 456),
        "optimus": (2838, 822),
        "ormind": (2676, 518),
        "ormind without counterfactual and syntax_analysis": (1539, 228),
    },
    "complexor": {
        "coe": (3288, 780),
        "optimus": (3241, 1194),
        "ormind": (3336, 997),
        "ormind without counterfactual and syntax_analysis": (2390, 500),
    },
}
NO_VALID_MODEL = (SolveVerdict.MODEL_FAILURE, SolveVerdict.UNSOLVED, SolveVerdict.UNSUPPORTED)
TERMS = BenchTerms(
    benchmark="benchmark",
    subject="set",
    subjects="sets",
    contestant="method",
    contestants="methods",
    modes={"SR": "share of problems whose objective matches the reference"},
    answer="model",
    work="calls",
    noise="problems",
)
Rates = tuple[float, float | None, float | None]

PUBLISHED: Mapping[str, Mapping[str, Rates]] = {
    "nl4opt": {
        "tag-BART": (47.9, None, None),
        "optimus": (28.6, 4.0, 11.9),
        "cot": (45.8, 20.5, 9.4),
        "progressive_hint": (42.1, 19.4, 10.3),
        "tot": (47.3, 17.4, 9.7),
        "got": (48.0, 16.9, 9.1),
        "react": (48.5, 15.5, 11.2),
        "reflexion": (50.7, 7.3, 9.0),
        "spp": (46.8, 17.9, 13.6),
        "coe": (58.9, 3.8, 7.7),
        "ormind": (68.8, 0.4, 2.0),
        "ormind with conductor": (63.2, 0.4, 1.4),
        "ormind with terminology": (64.9, 0.4, 2.4),
        "ormind with reviewer": (33.0, 0.4, 6.6),
        "ormind without semantic_encoder": (58.0, 1.0, 6.9),
        "ormind without formalization": (65.6, 1.4, 7.2),
        "ormind without counterfactual": (59.4, 2.8, 11.1),
        "ormind without syntax_analysis": (62.2, 1.0, 8.3),
        "standard": (42.4, 18.1, 13.2),
    },
    "complexor": {
        "tag-BART": (0.0, None, None),
        "optimus": (9.5, 7.9, 15.0),
        "cot": (0.5, 35.3, 8.6),
        "progressive_hint": (2.2, 35.1, 13.5),
        "tot": (4.9, 31.4, 7.6),
        "got": (4.3, 32.4, 8.1),
        "react": (14.6, 31.9, 10.8),
        "reflexion": (13.5, 12.9, 10.1),
        "spp": (7.0, 46.5, 13.5),
        "coe": (25.9, 7.6, 6.4),
        "ormind": (40.5, 5.4, 21.6),
        "ormind with conductor": (40.5, 2.7, 16.2),
        "ormind with terminology": (29.7, 5.4, 29.7),
        "ormind with reviewer": (32.4, 0.0, 35.1),
        "ormind without semantic_encoder": (32.4, 5.4, 24.3),
        "ormind without formalization": (35.1, 2.7, 32.4),
        "ormind without counterfactual": (32.4, 10.8, 24.3),
        "ormind without syntax_analysis": (35.1, 5.4, 29.7),
        "standard": (0.5, 36.8, 8.6),
    },
}


def _read_method(text: str) -> dict[str, Any]:
    """Read a method with its changes, such as ``ormind without compiler``."""
    name, *changes = re.split(r"\s+(?=with(?:out)?\s)", text.strip())
    row: dict[str, Any] = {"method": check_known(name, [*METHODS, *BASELINES], "method")}
    for change in changes:
        word, _, part = change.partition(" ")
        row.setdefault(word, []).append(part.strip())
    return row


def list_contestants(
    methods: Sequence[str], models: Sequence[str], temperatures: Sequence[float] = (0.0,), ablations: bool = False
) -> dict[str, dict[str, Any]]:
    """Return names and settings of all contestants."""
    rows: list[Mapping[str, Any]] = [_read_method(text) for text in methods]
    if ablations:
        rows = [*ABLATIONS, *(row for row in rows if row not in ABLATIONS)]
    settings_of = {}
    for model in models:
        for temperature in temperatures:
            for row in rows:
                contestant = {**row, "model": model, "temperature": temperature}
                label = options_of(contestant, FormulateBenchSettings()).label
                if len(models) > 1:
                    label += f", {model}"
                if len(temperatures) > 1:
                    label += f", temperature {temperature:g}"
                settings_of[label] = contestant
    return settings_of


@checked(frozen=True, config=STRICT)
class FormulateBenchSettings(CaseSettings):
    """Settings that all contestants of a benchmark of formulations share."""

    # Number of problems taken from the beginning of each set. None means all.
    limit: int | None = None
    preset: str = "default"
    tolerance: str = "strict"
    # Whether a confirmed infeasible model is an answer. None means the value of the preset.
    accept_infeasible: bool | None = None
    # Whether the checker's rows are also solved. None means the value of the preset.
    solve_checks: bool | None = None
    # Whether answers are tested by properties. None means the value of the preset.
    metamorphic: bool | None = None
    # Bounds are frozen, so that they can be a default.
    bounds: Bounds = Bounds()


def options_of(contestant: Mapping[str, Any], settings: FormulateBenchSettings) -> Options:
    """Return the options of a contestant, with the common ones."""
    return choose_options(
        settings.preset,
        method=contestant["method"],
        without=frozenset(contestant.get("without", ())) or None,
        extra=tuple(contestant.get("with", ())) or None,
        temperature=contestant.get("temperature"),
        accept_infeasible=settings.accept_infeasible,
        solve_checks=settings.solve_checks,
        metamorphic=settings.metamorphic,
    )


def published_rates(subject: str, contestant: str) -> Rates | None:
    """Return the published rates of a method on a set, or None. A subject begins with the name of its set."""
    for name, rows in PUBLISHED.items():
        if subject.startswith(name):
            return rows.get(contestant)
    return None


@dataclass
class FormulateBenchmark(CaseBenchmark):
    """Runner of the cells of a plan."""

    roles: ClassVar[Sequence[str]] = ROLES
    _sets: dict[str, ProblemSet] = field(default_factory=dict)

    @cached_property
    def settings(self) -> FormulateBenchSettings:
        """Settings of the plan."""
        return FormulateBenchSettings.of(self.plan)

    def problems(self, subject: str) -> ProblemSet:
        """Return the problems of a subject, up to the limit of the plan."""
        if subject not in self._sets:
            problem_set = read_set(str(self.plan.subjects[subject]))
            limit = self.settings.limit
            if limit:
                self._sets[subject] = replace(problem_set, cases=problem_set.cases[:limit])
            else:
                self._sets[subject] = problem_set
        return self._sets[subject]

    def cell_folder(self, cell: BenchCell, folder: Path) -> Path:
        """Return the folder of a cell."""
        return folder / slug(cell.subject) / slug(cell.contestant) / str(cell.seed)

    def case_names(self, cell: BenchCell) -> list[str]:
        """Return the names of the cases of a cell."""
        cases = self.problems(cell.subject)
        if self.contestant_of(cell)["model"] == ALL:
            cases, _ = expand_errors(cases)
        return [case.problem.name for case in cases.supported]

    def profile_case(self, cell: BenchCell) -> Sequence[CaseCalls]:
        """Return the expected calls of a formulation, for a problem of average length."""
        contestant, cases = self.contestant_of(cell), self.problems(cell.subject).supported
        if contestant["model"] in (*STAND_INS, ALL) or not cases:
            return ()
        size = sum(estimate_tokens(case.problem.text) for case in cases) / len(cases)
        profiles = list_profiles(options_of(contestant, self.settings).method)
        return [
            CaseCalls(profile.role, contestant["model"], profile.calls, size + profile.request, profile.reply)
            for profile in profiles
        ]

    def describe_cell(self, cell: BenchCell, cases: Sequence[FinishedCase]) -> str:
        """Return the success rate."""
        return f"SR {100 * verdict_rates(cases)['SR']:.1f} % of {len(cases)}"

    def score_cell(self, cell: BenchCell, cases: Sequence[FinishedCase]) -> tuple[Measure, float, int]:
        """Return the measure, the success rate, and the number of problems without success."""
        wrong = sum(case.result["verdict"] != SolveVerdict.ACCEPT for case in cases)
        measure = Measure(self.problems(cell.subject).title, Direction.MAXIMIZE)
        return measure, verdict_rates(cases)["SR"], wrong

    def describe_case(self, result: Mapping[str, Any]) -> str:
        """Return the verdict."""
        return str(result["verdict"])

    def find_readable(self) -> Sequence[str]:
        """Find the sets whose labels a generated program could read on this machine."""
        sources = {name: self.problems(name).source for name in self.plan.subjects}
        return [name for name, source in sources.items() if source is not None and can_read_labels(source)]

    def open_cell(
        self, cell: BenchCell, cell_folder: Path, stack: AsyncExitStack
    ) -> tuple[Mapping[str, str | Model], Work]:
        """Open the sandbox and the set, and its mock model if one is used."""
        contestant, settings, cases = self.contestant_of(cell), self.settings, self.problems(cell.subject)
        options, player = options_of(contestant, settings), contestant["model"]
        if player in (*STAND_INS, ALL):
            standing = open_stand_in(player, cases, cell.seed)
            cases, player = standing.cases, standing.model
        case_of = {case.problem.name: case for case in cases.supported}
        runner = FormulationRunner(stack.enter_context(Sandbox(self.workers)), settings.bounds)

        async def run_case(case: LedgerCase) -> object:
            labelled = case_of[case.name]
            result = await formulate_case(case, labelled.problem, options, runner)
            tolerance = TOLERANCES[settings.tolerance]
            verdict = grade_result(result, labelled.label, tolerance, options.accept_infeasible)
            return _case_record(result, verdict) | {
                "prompt_tokens": sum(reply.tokens_in for reply in case.replies),
                "seconds": sum(reply.seconds for reply in case.replies),
                "solve_s": (result.solution or {}).get("seconds"),
                "reference_s": await asyncio.to_thread(_reference_seconds, labelled, settings.bounds.program_s),
            }

        return {"": player}, run_case


def verdict_rates(finished: Sequence[FinishedCase]) -> dict[str, float]:
    """Return shares of verdicts: SR, MFFR (no valid model), IEFR (no run) and wrong. They sum to 1."""
    count = max(1, len(finished))
    verdicts = [SolveVerdict(case.result["verdict"]) for case in finished]
    return {
        "SR": verdicts.count(SolveVerdict.ACCEPT) / count,
        "MFFR": sum(verdict in NO_VALID_MODEL for verdict in verdicts) / count,
        "IEFR": sum(verdict in FAILED_RUNS for verdict in verdicts) / count,
        "wrong": verdicts.count(SolveVerdict.WRONG_ANSWER) / count,
    }


def can_read_labels(path: Path) -> bool:
    """Run a program to test whether generated programs can read the file with the labels."""
    source = f"def solve(data):\n    return {{'x': open({json.dumps(str(path.resolve()))}, 'rb').read(1).hex()}}\n"
    with Sandbox(1) as box:
        ran = FormulationRunner(box, Bounds(program_s=10.0)).run_program(source, DEFAULT, {})
    # The program finished without an error.
    return ran.verdict is SolveVerdict.UNSOLVED


def _reference_seconds(labelled: Labelled, limit_s: float) -> float | None:
    """Return the seconds of the solve of the correct model, or None if that is unknown."""
    if labelled.gold is None:
        return None
    try:
        return solve(labelled.gold, limit_s, duals=False).seconds
    except ModellingError:
        return None


def _case_record(result: FormulationResult, verdict: SolveVerdict) -> dict[str, Any]:
    """Return the stored record of a problem."""
    attempts = []
    for attempt in result.attempts:
        reasons = [finding["reason"] for finding in (attempt["checks"] or {}).get("findings", ())]
        attempts.append([attempt["origin"], attempt["verdict"] or attempt["status"], reasons])
    return {
        "verdict": str(verdict),
        "status": result.status,
        "objective": result.objective,
        "answer": result.answer,
        "message": result.message,
        "program": result.program,
        "checks": result.checks,
        "attempts": attempts,
        "metamorphic": [dict(attempt) for attempt in result.metamorphic],
    }
