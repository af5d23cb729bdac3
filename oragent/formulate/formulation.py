"""Formulate one problem as a case of a study; the result is plain data."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

from oragent._base.budget import Spent
from oragent.formulate import modules
from oragent.formulate.aims import (
    Aim,
    AimFacts,
    choose_senses,
    direct_objectives,
    direct_solution,
    list_aims,
    read_aim_facts,
    read_stated_aim,
    staged_objectives,
)
from oragent.formulate.appeals import Dispute, read_dispute
from oragent.formulate.methods import find_method
from oragent.formulate.options import Options
from oragent.formulate.problem import ProblemText
from oragent.formulate.prompting import CommentPool, PoolEntry
from oragent.formulate.requirements import NOT_SOLVED, list_readings, list_unmodelled
from oragent.formulate.running import ExecutionResult, FormulationRunner
from oragent.formulate.session import FormulationAttempt, FormulationSession, PersonQuestion
from oragent.formulate.verdicts import Judgement, decide_verdict
from oragent.ledger.case import LedgerCase
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.intervals import PlanInterval, read_intervals
from oragent.modelling.data.solution import SolveStatus
from oragent.modelling.files.model_json import model_dict, model_from_dict
from oragent.modelling.files.solution_json import solution_dict

MAX_REMARKS = 10


@dataclass(frozen=True)
class FormulationResult:
    """Result of a formulation.

    Attributes:
        status: Status of the solution, or the failure of the program.
        answer: Whether the status is proven and confirmed, or the gap is accepted.
        milp: The model; None if no program solved one.
        solution: Solution of the model without duals; None without a model.
        values: Returned values, with the solution's values of variables.
        columns: Returned values, with the names of the model's variables instead of their values; None in folders of
            older versions.
        message: Reason why there is no solution; may be empty.
        checks: Last check of the program; None without a check.
        attempts: All programs: origin, text, verdict, status, objective, findings.
        kept: Index of the answer among the attempts.
        metamorphic: Results of the metamorphic tests, as plain data.
        spent: Calls, tokens, money.
        unpriced: Number of calls whose price is unknown.
        readings: Sentences with two readings: sentence, reading used, other reading, and its status and objective.
        unmodelled: Requirements that the formalization omits by its own statement: sentence and reason.
        framework: Name and version of the library in which the program wrote the model; empty if it is not known.
        is_schedule: Whether the program's model has intervals, machines or cumulative resources of CP-SAT.
        held: Row or variable by which the program held an objective in later solves, by the name of the objective.
        intervals: Intervals of a schedule, by the columns of the model.
        disputes: Findings on which the authors of program and checker insist.
        withdrawn: Findings that the author of the checker withdrew after an appeal of the program's author.
    """

    status: str
    answer: bool
    milp: IndexedModel | None
    solution: Mapping[str, Any] | None
    values: Any
    program: str
    message: str
    checks: Mapping[str, Any] | None
    checker: str
    attempts: tuple[Mapping[str, Any], ...]
    kept: int
    pool: tuple[PoolEntry, ...]
    data: Mapping[str, Any]
    metamorphic: tuple[Mapping[str, Any], ...] = ()
    spent: Spent = field(default_factory=Spent)
    columns: Any = None
    readings: tuple[Mapping[str, Any], ...] = ()
    unmodelled: tuple[Sequence[str], ...] = ()
    framework: str = ""
    is_schedule: bool = False
    held: Mapping[str, str] = field(default_factory=dict)
    intervals: tuple[PlanInterval, ...] = ()
    disputes: tuple[Dispute, ...] = ()
    withdrawn: tuple[Dispute, ...] = ()
    unpriced: int = 0

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks of the review on the plan; untrusted text."""
        entries = [entry.parsed for entry in self.pool if entry.module == "review" and isinstance(entry.parsed, list)]
        return tuple(str(remark) for remark in entries[-1][:MAX_REMARKS]) if entries else ()

    @property
    def judgement(self) -> Judgement:
        """Verdict from status, checks and metamorphic tests."""
        return decide_verdict(
            is_answer=self.answer,
            has_model=self.milp is not None,
            message=self.message or self.status,
            checks=self.checks,
            properties=self.metamorphic,
            disputes=self.disputes,
        )

    @property
    def objective(self) -> float | None:
        """Value of the most important aim."""
        return self.aims[0].value if self.aims else None

    @property
    def model_values(self) -> tuple[float | None, ...]:
        """Values of the objectives of the model, such as that of a weighted sum."""
        if self.is_weighted:
            assert self.milp is not None
            return tuple(aim.value for aim in list_aims(self.milp, self.solution, ()))
        return tuple(aim.value for aim in self.aims)

    @property
    def is_weighted(self) -> bool:
        """Return True if the aims are those of the checker, which the model weights or holds in its own way."""
        return self.milp is not None and len(self.aims) > len(staged_objectives(self.milp))

    @cached_property
    def aims(self) -> tuple[Aim, ...]:
        """Aims with their values at the solution, the most important first; empty without a model."""
        if self.milp is None:
            return ()
        checks = self.checks or {}
        stated = tuple(read_stated_aim(aim) for aim in checks.get("aims", ()))
        # Without a checker, the verdict says that nothing was compared.
        compared = checks.get("compared_aims")
        facts = find_aim_facts(self.pool, max(len(staged_objectives(self.milp)), len(stated)))
        return list_aims(self.milp, self.solution, facts, stated, self.held, compared)

    def to_plain(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        plain = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return plain | {
            "milp": None if self.milp is None else model_dict(self.milp),
            "pool": [asdict(entry) for entry in self.pool],
            "attempts": [dict(record) for record in self.attempts],
            "metamorphic": [dict(record) for record in self.metamorphic],
            "spent": asdict(self.spent),
            "intervals": [asdict(interval) for interval in self.intervals],
            "disputes": [asdict(dispute) for dispute in self.disputes],
            "withdrawn": [asdict(dispute) for dispute in self.withdrawn],
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> "FormulationResult":
        """Read the result from plain data."""
        # A result of another version may have other fields.
        fields = {name: value for name, value in plain.items() if name in cls.__dataclass_fields__}
        milp = None if plain["milp"] is None else model_from_dict(plain["milp"])
        columns = set() if milp is None else set(milp.flat_variable_names)
        return cls(
            **{
                **fields,
                "milp": milp,
                "disputes": tuple(map(read_dispute, plain.get("disputes", ()))),
                "withdrawn": tuple(map(read_dispute, plain.get("withdrawn", ()))),
                "intervals": read_intervals(plain.get("intervals", ()), columns),
                "pool": tuple(PoolEntry(**entry) for entry in plain["pool"]),
                "attempts": tuple(plain["attempts"]),
                "metamorphic": tuple(plain["metamorphic"]),
                "readings": tuple(plain.get("readings", ())),
                "unmodelled": tuple(plain.get("unmodelled", ())),
                "spent": Spent(**plain["spent"]),
            }
        )


async def formulate_case(
    case: LedgerCase,
    problem: ProblemText,
    options: Options,
    runner: FormulationRunner,
    ask_person: PersonQuestion | None = None,
) -> FormulationResult:
    """Formulate a problem by a method; the user may be asked before the first program is solved.

    Raises:
        OragentError: The model cannot be called, the budget is spent, or the sandbox failed.
    """
    session = FormulationSession(case, problem, options, runner, CommentPool(), ask_person=ask_person)
    answer = await find_method(options.method)(session)
    if options.check_answer and answer.checked is None and not answer.has_failed and not session.checker:
        await modules.write_checker(session)
        answer = session.newest
    if options.metamorphic and answer.properties is None and not answer.is_refused:
        session.attempts.append(answer)
        await session.test_newest()
        answer = session.attempts.pop()
    if options.review:
        await modules.review_plan(session, answer)
    return collect_result(session, answer)


def collect_result(session: FormulationSession, answer: FormulationAttempt) -> FormulationResult:
    """Return the result of a session, with one of its attempts as the answer."""
    options, ran = session.options, _direct_result(session, answer)
    readings = session.readings or (_unsolved_readings(session) if ran.milp is None else ())
    return FormulationResult(
        status=str(ran.verdict or ran.status),
        answer=answer.is_answer
        and (options.accept_infeasible or ran.status in (SolveStatus.OPTIMAL, SolveStatus.FEASIBLE)),
        milp=ran.milp,
        solution=None if ran.solution is None else solution_dict(ran.solution),
        values=ran.values,
        program=answer.source,
        message=ran.message or _why_not_proven(answer),
        checks=asdict(answer.checked) if answer.checked else None,
        checker=session.checker,
        attempts=tuple(_plain_attempt(record) for record in session.attempts),
        kept=answer.number,
        pool=tuple(session.pool),
        data=dict(session.data),
        metamorphic=tuple(asdict(record) for record in answer.properties or ()),
        spent=session.case.used,
        columns=ran.columns,
        readings=tuple(_direct_reading(reading, answer.ran, ran) for reading in readings),
        unmodelled=tuple(list_unmodelled(session.pool.parsed_of("formalization"))),
        framework=ran.framework,
        is_schedule=ran.is_schedule,
        held=dict(ran.held),
        intervals=ran.intervals,
        disputes=session.disputes,
        withdrawn=session.withdrawn,
    )


def _direct_result(session: FormulationSession, answer: FormulationAttempt) -> ExecutionResult:
    """Return the result with the objectives in the direction of the checker or of the program's author."""
    ran = answer.ran
    if ran.milp is None or ran.solution is None:
        return ran
    stated = answer.checked.aims if answer.checked else ()
    facts = find_aim_facts(session.pool, len(staged_objectives(ran.milp)))
    directed = direct_objectives(ran.milp, choose_senses(ran.milp, ran.solution, stated, facts))
    return replace(ran, milp=directed, solution=direct_solution(ran.milp, directed, ran.solution))


def _direct_reading(reading: Mapping[str, Any], ran: ExecutionResult, directed: ExecutionResult) -> dict[str, Any]:
    """Return a reading whose aims have the directions of those of the answer."""
    values = reading.get("aims", ())
    if ran.milp is None or directed.milp is None or not values:
        return dict(reading)
    pairs = zip(staged_objectives(ran.milp), staged_objectives(directed.milp), strict=True)
    signs = [1 if before.sense is after.sense else -1 for before, after in pairs]
    aims = [sign * value + 0.0 for sign, value in zip(signs, values, strict=False)]
    return {**reading, "aims": aims, "objective": aims[0]}


def find_aim_facts(pool: Sequence[PoolEntry], count: int) -> tuple[AimFacts, ...]:
    """Return the facts of the formalization about each aim; empty without a formalization."""
    parsed = [entry.parsed for entry in pool if entry.module == "formalization" and isinstance(entry.parsed, dict)]
    return read_aim_facts(parsed[-1], count) if parsed else ()


def _unsolved_readings(session: FormulationSession) -> list[dict[str, Any]]:
    """Return the sentences with two readings, for a problem without a solution."""
    readings = list_readings(session.pool.parsed_of("formalization"))
    return [{**asdict(reading), "status": NOT_SOLVED, "objective": None} for reading in readings]


def _why_not_proven(attempt: FormulationAttempt) -> str:
    """Return why a solution that is not proven optimal is not an answer; empty if it is one."""
    solution = attempt.ran.solution
    if attempt.is_answer or solution is None or solution.status is not SolveStatus.FEASIBLE:
        return ""
    gap = f"the gap is {solution.gap:.2%}" if solution.gap is not None else "no bound is known"
    return f"not proven to be the best, {gap}: allow more seconds with --time, or a wider gap with --gap"


def _plain_attempt(attempt: FormulationAttempt) -> dict[str, Any]:
    return {
        "number": attempt.number,
        "origin": attempt.origin,
        "source": attempt.source,
        "verdict": str(attempt.ran.verdict or ""),
        "status": str(attempt.ran.status or ""),
        "message": attempt.ran.message,
        "objective": attempt.ran.aim_values[0] if attempt.ran.aim_values else attempt.ran.objective,
        "aims": list(attempt.ran.aim_values),
        "values": attempt.ran.values,
        "checks": asdict(attempt.checked) if attempt.checked else None,
    }
