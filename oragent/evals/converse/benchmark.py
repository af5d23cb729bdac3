"""Conversations by the hundred: each contestant is a study in a folder of its own, each decision agent a case of it."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from pydantic.dataclasses import dataclass as checked

from oragent._base.direction import Direction as Better
from oragent._base.files import file_stem
from oragent._base.settings import STRICT
from oragent.converse.agents.guests import Guests
from oragent.converse.agents.model_agents import ASKING, PROGRAMMING, Design, make_agent
from oragent.converse.conversation import LIMIT, Conversation, ConversationEnd, ConversationResult, Stopping
from oragent.converse.decider import DecisionAgent
from oragent.converse.decision import DecisionProblem
from oragent.converse.problems.registry import open_problem as problem_of
from oragent.converse.solving import StateSolver
from oragent.evals.bench.cases import CaseBenchmark, CaseSettings
from oragent.evals.bench.plan import BenchCell, BenchPlan, BenchTerms
from oragent.evals.bench.result import Measure
from oragent.evals.converse.asking_deciders import Asking, dropping_requests, ranked_requests
from oragent.evals.converse.audit import COUNTS, audit_conversation
from oragent.evals.converse.evaluable_problems import stakeholders_of, standing_in
from oragent.evals.converse.paradigms import RULES, Paradigm
from oragent.evals.converse.scoring import Scored
from oragent.evals.converse.stakeholders import Stakeholder, Stakeholders
from oragent.evals.converse.talking_decider import Feedback, Knowing, Persona, Style, Talking, Template
from oragent.evals.converse.utility_files import read_utility_file
from oragent.ledger import LedgerCase, ReplayModel, Study
from oragent.ledger.study import FinishedCase
from oragent.llm.factory import open_models
from oragent.llm.model import Model, Reply
from oragent.llm.model_settings import RuntimeWords
from oragent.sandbox.sandbox import Sandbox

TERMS = BenchTerms(
    benchmark="evaluation", subject="problem", subjects="problems", contestant="contestant",
    contestants="contestants", modes={"score": "mean utility over the greatest possible"}, answer="conversation",
    work="calls", noise="conversations",
)  # fmt: skip
UTILITIES, SCRIPTED = "utilities.json", "scripted"
DECIDERS = ("llm", "rational", "myopic")
RULE = {"rational": ranked_requests, "myopic": dropping_requests}


MODEL_ROLES = ("agent", "decider")  # roles in which models are asked


@checked(frozen=True, config=STRICT)
class EvaluationSettings(CaseSettings):
    """Settings that all contestants of an evaluation share.

    Attributes:
        styles, feedback: Names of the personas' styles and kinds of feedback; every combination takes part.
        decider: Decision agent: ``llm``, ``rational`` or ``myopic``.
        stopping: What ends a conversation.
        knowing: By what a decision agent knows its utility.
        seed: Seed of utilities, roles and cases.
        decider_model: Model of the decision agents; empty: that of the contestant.
        temperature, decider_temperature: Sampling temperatures of agents and decision agents; None: the models' own.
        paper_words: Whether words are forbidden as published.
        limit: Most messages of a conversation; None: the default.
    """

    styles: tuple[str, ...] = ("vague", "precise")
    feedback: tuple[str, ...] = ("binary", "rich")
    decider: str = "llm"
    stopping: Stopping = Stopping.THRESHOLD
    knowing: Knowing = Knowing.TOOL
    seed: int = 0
    decider_model: str = ""
    temperature: float | None = None
    decider_temperature: float | None = None
    paper_words: bool = False
    limit: int | None = None


@dataclass
class ConverseBenchmark(CaseBenchmark):
    """The runner of a plan's cells.

    Attributes:
        plan: Plan of what is measured.
        folder: Folder of the evaluation; its utilities lie in it.
        workers: Conversations at once.
        note: Callback that is told of each conversation that is done, in words.
        stand_in: Model that is asked in place of any other, for tests; None: those of the plan.
        replay: Folder of an evaluation whose replies are given again, and nobody is asked.
        words: Settings of models of the command line, ``model.base_url=URL`` and others; names come from the plan.
        given: Problem of one's own that the plan is about; None: the one that is known by the name in the plan.
    """

    plan: BenchPlan
    folder: Path
    workers: int = 1
    note: Callable[[BenchCell, str], None] = lambda cell, text: None
    stand_in: Model | None = None
    replay: Path | None = None
    given: DecisionProblem | None = None
    words: RuntimeWords = field(default_factory=RuntimeWords)
    roles: Sequence[str] = MODEL_ROLES

    @cached_property
    def settings(self) -> EvaluationSettings:
        """Settings of the plan."""
        return EvaluationSettings.of(self.plan)

    @cached_property
    def problem(self) -> DecisionProblem:
        """The problem of the plan."""
        return problem_of(next(iter(self.plan.subjects))) if self.given is None else self.given

    @cached_property
    def known(self) -> Stakeholders:
        """All stakeholders of the problem."""
        return stakeholders_of(self.problem)

    @cached_property
    def solver(self) -> StateSolver:
        """Solver that all conversations share."""
        return StateSolver(self.problem)

    @cached_property
    def stakeholders(self) -> tuple[Stakeholder, ...]:
        """Those whose utilities lie in the folder."""
        return read_utility_file(self.folder / UTILITIES, self.problem).stakeholders

    def case_names(self, cell: BenchCell) -> list[str]:
        """Names of the cases of a cell: number of the utility, style and feedback."""
        numbers = [f"{number:04d}" for number in range(len(self.stakeholders))]
        if not self._uses_persona(cell):
            return numbers
        kinds = product(self.settings.styles, self.settings.feedback)
        return [f"{number}-{style}-{feedback}" for style, feedback in kinds for number in numbers]

    def cell_folder(self, cell: BenchCell, folder: Path) -> Path:
        """Folder of a cell."""
        return folder / "contestants" / file_stem(cell.contestant, each=True) / str(cell.seed)

    def describe_cell(self, cell: BenchCell, cases: Sequence[FinishedCase]) -> str:
        """Return mean score, successes and requests."""
        score = fmean(case.result["score"] for case in cases)
        successes = sum(case.result["success"] for case in cases)
        turns = sum(len(case.result["turns"]) for case in cases)
        share = 100 * successes / len(cases)
        return f"{score:.4f} / {share:.2f} %, {successes} of {len(cases)}, {turns} requests"

    def score_cell(self, cell: BenchCell, cases: Sequence[FinishedCase]) -> tuple[Measure, float, int]:
        """Return the measure, the mean score, and the number of conversations without success."""
        score = sum(case.result["score"] for case in cases) / max(1, len(cases))
        failed = sum(not case.result["success"] for case in cases)
        return Measure(self.problem.name, Better.MAXIMIZE), score, failed

    def persona(self, cell: BenchCell, case: str, seed: int) -> Persona:
        """The character of a case; its role is drawn evenly, by the seed and the name alone."""
        _, style, feedback = case.split("-", 2)
        roles = self.known.telling.roles
        role = roles[np.random.default_rng([seed, *b"role", *case.encode()]).integers(len(roles))]
        contestant, templates = self._contestant_of(cell), []
        if contestant["paradigm"] in (Paradigm.ONE_SHOT, Paradigm.AWARE):
            templates += [Template.AWARE] * (contestant["paradigm"] == Paradigm.AWARE)
        if contestant["agent"] == "C-N-R":
            templates.append(Template.BLANK)
        return Persona(
            role, Style(style), Feedback(feedback), tuple(templates), self.settings.knowing, self.settings.paper_words
        )

    def _contestant_of(self, cell: BenchCell) -> Mapping[str, Any]:
        return self.plan.contestants[cell.contestant]

    def _uses_persona(self, cell: BenchCell) -> bool:
        return bool(self._contestant_of(cell)["paradigm"] != Paradigm.DEFAULT and self.settings.decider == "llm")

    async def _run_cases(self, cell: BenchCell, cell_folder: Path) -> str:
        contestant = self._contestant_of(cell)
        async with AsyncExitStack() as stack:
            models, checks = await self._open_models(contestant, stack, self._uses_persona(cell))
            study = stack.enter_context(Study(cell_folder, models, self.read_runtime().budget, cell.seed, self.workers))
            study.record_checks(checks)
            if self.replay is not None:
                study.replies.copy_from(self.cell_folder(cell, self.replay) / "run.db")
                study.models = {"": ReplayModel(study.replies)}
            programs = contestant["agent"] in PROGRAMMING
            guests = Guests(stack.enter_context(Sandbox(self.workers))) if programs else None

            async def run_case(case: LedgerCase) -> object:
                return await self._hold_case(cell, case, guests)

            def note_case(case: FinishedCase) -> None:
                self.note(cell, f"{case.name}: {case.result['score']:.3f}, {case.result['end']}")

            await study.run_cases(self.case_names(cell), run_case, note_case)
            return study.stop_reason

    async def _open_models(
        self, contestant: Mapping[str, Any], stack: AsyncExitStack, talks: bool
    ) -> tuple[dict[str, Model], list[Reply]]:
        """Open the agent's model in its role and the decider's in its own; return the checks of their servers too."""
        if self.stand_in is not None:
            return {"": self.stand_in}, []
        if self.replay is not None:
            return {}, []
        named = {
            "agent": contestant["model"] if contestant["agent"] in ASKING else "",
            "decider": self.settings.decider_model or contestant["model"] if talks else "",
        }
        opened: dict[str, Model] = {}
        checks: list[Reply] = []
        for role, name in named.items():
            if name == SCRIPTED:
                opened[role] = standing_in(self.problem)
            elif name:
                made = await stack.enter_async_context(open_models(self.read_runtime(name)))
                opened[role] = made
                checks += made.checks
        return opened, checks

    async def _hold_case(self, cell: BenchCell, case: LedgerCase, guests: Guests | None) -> dict[str, Any]:
        contestant, settings, number = self._contestant_of(cell), self.settings, int(case.name[:4])
        stakeholder, paradigm = self.stakeholders[number], Paradigm(contestant["paradigm"])
        persona = self.persona(cell, case.name, settings.seed) if self._uses_persona(cell) else None
        if paradigm is Paradigm.DEFAULT:
            judged = stakeholder(self.problem.default)
            outcome = ConversationResult(
                ConversationEnd.NONE, (), self.problem.default, False, judged.value, judged.maximum
            )
        else:
            without = frozenset(filter(None, [contestant["without"]]))
            design = Design(contestant["agent"], contestant["tools"], settings.temperature, without)
            opponent = make_agent(design, self.solver, case, guests)
            limit = LIMIT if paradigm is Paradigm.CONVERSATION else 1
            decider = self._make_decider(stakeholder, paradigm, persona, case, in_words=contestant["agent"] in ASKING)
            outcome = await Conversation(
                self.problem,
                opponent,
                decider,
                stakeholder,
                settings.limit or limit if limit > 1 else 1,
                settings.stopping,
            ).hold()
        return self._make_record(outcome, contestant, stakeholder, persona, number) | {
            "seconds": sum(reply.seconds for reply in case.replies),
            "tokens": sum(reply.tokens_in + reply.tokens_out for reply in case.replies),
        }

    def _make_decider(
        self, stakeholder: Stakeholder, paradigm: Paradigm, persona: Persona | None, case: LedgerCase, *, in_words: bool
    ) -> DecisionAgent:
        if persona is not None:
            return Talking(case, self.problem, stakeholder, persona, self.settings.decider_temperature)
        rule = RULE[self.settings.decider] if paradigm is Paradigm.CONVERSATION else RULES[paradigm]
        return Asking.of(rule, stakeholder, self.problem, at_once=paradigm is Paradigm.AWARE, in_words=in_words)

    def _make_record(
        self,
        outcome: ConversationResult,
        contestant: Mapping[str, Any],
        stakeholder: Stakeholder,
        persona: Persona | None,
        number: int,
    ) -> dict[str, Any]:
        name = contestant["agent"]
        counts = audit_conversation(
            self.problem, outcome, self.solver, knows_solver=name != "C-N-R", doubts=name != "rules"
        )
        return outcome.to_plain() | {
            "utility": number,
            "traits": dict(stakeholder.profile.traits),
            "role": str(persona.role) if persona else "",
            "style": str(persona.style) if persona else "",
            "feedback": str(persona.feedback) if persona else "",
            "calls": outcome.calls,
            "audit": {name: getattr(counts, name) for name in COUNTS},
            "findings": [asdict(finding) for finding in counts.findings[:MOST_FINDINGS]],
        }


MOST_FINDINGS = 40


def score_case(contestant: Mapping[str, Any], result: Mapping[str, Any]) -> Scored:
    """A conversation that was held, as scores are summed up; those of older evaluations have no traits."""
    return Scored(
        agent=contestant["agent"],
        paradigm=contestant["paradigm"],
        model=contestant["model"],
        utility=result["utility"],
        traits=result.get("traits", {}),
        role=result["role"],
        style=result["style"],
        feedback=result["feedback"],
        score=result["score"],
        success=result["success"],
        turns=len(result["turns"]),
        calls=result["calls"],
    )
