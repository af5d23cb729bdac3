"""One problem from words to an answer, as a case of a study; what came of it is plain data."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from oragent._base.budget import Spent
from oragent.formulate.battery import PropertyResult, run_battery
from oragent.formulate.methods import METHODS
from oragent.formulate.options import Options
from oragent.formulate.problem import ProblemText
from oragent.formulate.prompting import CommentPool, PoolEntry
from oragent.formulate.requirements import NOT_SOLVED, list_readings, trace_requirements
from oragent.formulate.running import FormulationRunner
from oragent.formulate.session import FormulationAttempt, FormulationSession
from oragent.ledger.case import LedgerCase
from oragent.milp import as_json
from oragent.milp.model import Milp
from oragent.milp.solution import SolveStatus


@dataclass(frozen=True)
class FormulationResult:
    """What became of a problem.

    Attributes:
        status: Of the solution, or the verdict on a program that has none.
        answer: Whether that is an answer: a proven optimum, or a proven and confirmed absence of one.
        milp: The model; None where no program solved one.
        solution: Of that model, without duals; None likewise.
        values: What the program returned, with the solution's values.
        columns: The same with the names of the model's variables in the places of their values; None in folders of
            older versions.
        message: Why there is no solution; may be empty.
        checks: The last check of the program: state, findings, figures; None where there was none.
        attempts: All programs: origin, text, verdict, status, objective, findings.
        kept: Number of the attempt that is the answer.
        battery: Properties that were tried, as plain data; empty where none was.
        spent: Calls, tokens, money.
        readings: Sentences with two readings: sentence, reading used, other reading, and its status and objective.
        unmodelled: Requirements without a row: sentence and reason.
    """

    status: str
    answer: bool
    milp: Milp | None
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
    battery: tuple[Mapping[str, Any], ...] = ()
    spent: Spent = field(default_factory=Spent)
    columns: Any = None
    readings: tuple[Mapping[str, Any], ...] = ()
    unmodelled: tuple[Sequence[str], ...] = ()

    @property
    def objective(self) -> float | None:
        """Of the solution."""
        return self.solution["objective"] if self.solution else None

    def to_plain(self) -> dict[str, Any]:
        """As JSON has it."""
        plain = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return plain | {
            "milp": None if self.milp is None else as_json.to_dict(self.milp),
            "pool": [asdict(entry) for entry in self.pool],
            "attempts": [dict(record) for record in self.attempts],
            "battery": [dict(record) for record in self.battery],
            "spent": asdict(self.spent),
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> "FormulationResult":
        """Read it back."""
        fields = {name: plain[name] for name in cls.__dataclass_fields__ if name in plain}
        return cls(
            **fields
            | {
                "milp": None if plain["milp"] is None else as_json.from_dict(plain["milp"]),
                "pool": tuple(PoolEntry(**entry) for entry in plain["pool"]),
                "attempts": tuple(plain["attempts"]),
                "battery": tuple(plain["battery"]),
                "readings": tuple(plain.get("readings", ())),
                "unmodelled": tuple(plain.get("unmodelled", ())),
                "spent": Spent(**plain["spent"]),
            }
        )


async def formulate_case(
    case: LedgerCase, problem: ProblemText, options: Options, runner: FormulationRunner
) -> FormulationResult:
    """Formulate a problem by a method.

    Raises:
        OragentError: The model cannot be asked, the budget is used up, or our own side failed.
    """
    session = FormulationSession(case, problem, options, runner, CommentPool())
    answer = await METHODS[options.method](session)
    ran, sentences = answer.ran, answer.checked.sentences if answer.checked else {}
    return FormulationResult(
        status=str(ran.verdict or ran.status),
        answer=answer.is_answer
        and (options.accept_infeasible or ran.status in (SolveStatus.OPTIMAL, SolveStatus.FEASIBLE)),
        milp=ran.milp,
        solution=None if ran.solution is None else as_json.solution_dict(ran.solution),
        values=ran.values,
        program=answer.source,
        message=ran.message or _why_not_proven(answer),
        checks=asdict(answer.checked) if answer.checked else None,
        checker=session.checker,
        attempts=tuple(_plain_attempt(record) for record in session.attempts),
        kept=answer.number,
        pool=tuple(session.pool),
        data=dict(session.data),
        battery=tuple(asdict(record) for record in await _test_properties(session, answer)) if options.battery else (),
        spent=case.used,
        columns=ran.columns,
        readings=tuple(session.readings or (_unsolved_readings(session) if ran.milp is None else ())),
        unmodelled=tuple(trace_requirements(problem.text, session.pool, ran.milp, sentences)),
    )


def _unsolved_readings(session: FormulationSession) -> list[dict[str, Any]]:
    """The sentences with two readings of a problem that has no solution."""
    readings = list_readings(session.pool.parsed_of("formalization"))
    return [{**asdict(reading), "status": NOT_SOLVED, "objective": None} for reading in readings]


async def _test_properties(session: FormulationSession, attempt: FormulationAttempt) -> tuple[PropertyResult, ...]:
    """Put the answer to the properties, with what the encoder and the formalization said of units."""
    about = session.pool.parsed_of("semantic_encoder")
    unit = str(session.pool.parsed_of("formalization").get("UNIT") or "")
    return await asyncio.to_thread(
        run_battery,
        session.runner,
        attempt.source,
        session.problem.interface,
        session.data,
        about,
        unit=unit,
        checker=session.checker,
    )


def _why_not_proven(attempt: FormulationAttempt) -> str:
    """Why a point that is not proven optimal is no answer; empty where there is no such point."""
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
        "objective": attempt.ran.objective,
        "values": attempt.ran.values,
        "checks": asdict(attempt.checked) if attempt.checked else None,
    }
