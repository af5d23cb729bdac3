"""Benchmark of conversations. Each contestant is a study in its own folder, and each decision agent is a case."""

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any, ClassVar

import numpy as np
from pydantic.dataclasses import dataclass as checked

from oragent._base.direction import Direction as Better
from oragent._base.errors import ConfigError
from oragent._base.files import file_stem
from oragent._base.settings import STRICT
from oragent._base.text_format import one_line
from oragent.evals.bench.plan import BenchCell, BenchTerms
from oragent.evals.bench.result import Measure
from oragent.ledger import LedgerCase
from oragent.ledger.study import FinishedCase
from oragent.llm.model import Model
from oragent.sandbox.sandbox import Sandbox
from oragent_benchmarks.cases import CaseBenchmark, CaseCalls, CaseSettings, Work
from oragent_benchmarks.converse.agents.model_agents import ASKING, PROGRAMMING, Design, make_agent
from oragent_benchmarks.converse.agents.sandboxed_programs import SandboxedPrograms
from oragent_benchmarks.converse.conversation import LIMIT, Conversation, ConversationEnd, ConversationResult, Stopping
from oragent_benchmarks.converse.decider import DecisionAgent
from oragent_benchmarks.converse.decision import DecisionProblem
from oragent_benchmarks.converse.evaluable_problems import read_utility_file, stakeholders_of, standing_in
from oragent_benchmarks.converse.paradigms import (
    Asking,
    Paradigm,
    dropping_requests,
    find_rule,
    ranked_requests,
)
from oragent_benchmarks.converse.problems.registry import is_named
from oragent_benchmarks.converse.problems.registry import open_problem as problem_of
from oragent_benchmarks.converse.scoring import COUNTS, DECIDER, VARIED, Scored, audit_conversation
from oragent_benchmarks.converse.solving import StateSolver
from oragent_benchmarks.converse.stakeholders import Stakeholder, Stakeholders
from oragent_benchmarks.converse.talking_decider import Feedback, Knowing, Persona, Style, Talking, Template

TERMS = BenchTerms(
    benchmark="evaluation",
    subject="problem",
    subjects="problems",
    contestant="contestant",
    contestants="contestants",
    modes={"score": "mean utility over the greatest possible"},
    answer="conversation",
    work="calls",
    noise="conversations",
)
# Maximum number of findings stored per conversation.
MAX_FINDINGS = 40
UTILITIES, SCRIPTED = "utilities.json", "scripted"
DECIDERS = ("llm", "rational", "myopic")
RULE = {"rational": ranked_requests, "myopic": dropping_requests}


@checked(frozen=True, config=STRICT)
class EvaluationSettings(CaseSettings):
    """Settings that all contestants of an evaluation share."""

    # Styles and kinds of feedback of the personas, by name. All combinations are run.
    styles: tuple[str, ...] = ("vague", "precise")
    feedback: tuple[str, ...] = ("binary", "rich")
    decider: str = "llm"
    stopping: Stopping = Stopping.THRESHOLD
    knowing: Knowing = Knowing.TOOL
    # Seed of utilities, roles and cases.
    seed: int = 0
    # Model of the decision agents. Empty means the contestant's model.
    decider_model: str = ""
    # Sampling temperatures of agents and deciders. None means the model's default.
    temperature: float | None = None
    decider_temperature: float | None = None
    paper_words: bool = False
    # Maximum number of messages of a conversation. None means the default.
    limit: int | None = None


# Assumptions for the estimate of costs: messages per conversation, calls per answer, tokens of a prompt and of a reply.
TYPICAL_MESSAGES, CALLS_A_MESSAGE, TOKENS_A_CALL = 8, 3, (4000, 250)


@dataclass
class ConverseBenchmark(CaseBenchmark):
    """Runner of the cells of a plan."""

    # Folder of the evaluation, with its file of utilities.
    folder: Path = Path()
    # The user's problem for the plan. None means the registered problem with the plan's name.
    given: DecisionProblem | None = None
    # Stakeholders of a new evaluation, until their utilities are in the folder.
    chosen: Sequence[Stakeholder] | None = None
    # Model that replaces all others in tests. None means the models of the plan.
    stand_in: Model | None = None
    roles: ClassVar[Sequence[str]] = ("agent", "decider")

    @cached_property
    def settings(self) -> EvaluationSettings:
        """Settings of the plan."""
        return EvaluationSettings.of(self.plan)

    @cached_property
    def problem(self) -> DecisionProblem:
        """The problem of the plan."""
        name = next(iter(self.plan.subjects))
        if self.given is None:
            if not is_named(name):
                raise ConfigError(
                    f"the problem {one_line(name, 60)!r} comes from a file: name it with --problem FILE.py"
                )
            return problem_of(name)
        if self.given.name != name:
            raise ConfigError(f"this evaluation is about {one_line(name, 60)!r}, not {one_line(self.given.name, 60)!r}")
        return self.given

    @cached_property
    def known(self) -> Stakeholders:
        """All stakeholders of the problem."""
        return stakeholders_of(self.problem)

    @cached_property
    def solver(self) -> StateSolver:
        """Solver shared by all conversations."""
        return StateSolver(self.problem)

    @cached_property
    def stakeholders(self) -> tuple[Stakeholder, ...]:
        """Stakeholders whose utilities are in the folder, or will be written into it."""
        if self.chosen is not None:
            return tuple(self.chosen)
        return read_utility_file(self.folder / UTILITIES, self.problem).stakeholders

    def case_names(self, cell: BenchCell) -> list[str]:
        """Return the names of the cases of a cell: number of the utility, style and feedback."""
        numbers = [f"{number:04d}" for number in range(len(self.stakeholders))]
        if not self._uses_persona(cell):
            return numbers
        kinds = product(self.settings.styles, self.settings.feedback)
        return [f"{number}-{style}-{feedback}" for style, feedback in kinds for number in numbers]

    def cell_folder(self, cell: BenchCell, folder: Path) -> Path:
        """Return the folder of a cell."""
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
        """Return the persona of a case. Its role is drawn uniformly and depends only on the seed and the name."""
        _, style, feedback = case.split("-", 2)
        roles = self.known.telling.roles
        role = roles[np.random.default_rng([seed, *b"role", *case.encode()]).integers(len(roles))]
        contestant, templates = self.contestant_of(cell), []
        if contestant["paradigm"] in (Paradigm.ONE_SHOT, Paradigm.AWARE):
            templates += [Template.AWARE] * (contestant["paradigm"] == Paradigm.AWARE)
        if contestant["agent"] == "C-N-R":
            templates.append(Template.BLANK)
        return Persona(
            role, Style(style), Feedback(feedback), tuple(templates), self.settings.knowing, self.settings.paper_words
        )

    def _uses_persona(self, cell: BenchCell) -> bool:
        return bool(self.contestant_of(cell)["paradigm"] != Paradigm.DEFAULT and self.settings.decider == "llm")

    def profile_case(self, cell: BenchCell) -> Sequence[CaseCalls]:
        """Return the expected calls of a conversation, based on the number of messages of its paradigm."""
        contestant, settings = self.contestant_of(cell), self.settings
        paradigm = Paradigm(contestant["paradigm"])
        if paradigm is Paradigm.DEFAULT:
            return ()
        messages = TYPICAL_MESSAGES if paradigm is Paradigm.CONVERSATION else 1
        calls = []
        if contestant["agent"] in ASKING and contestant["model"] != SCRIPTED:
            calls.append(CaseCalls("agent", contestant["model"], messages * CALLS_A_MESSAGE, *TOKENS_A_CALL))
        decider = settings.decider_model or contestant["model"]
        if self._uses_persona(cell) and decider != SCRIPTED:
            calls.append(CaseCalls("decider", decider, messages, *TOKENS_A_CALL))
        return calls

    def describe_case(self, result: Mapping[str, Any]) -> str:
        """Return score and end."""
        return f"{result['score']:.3f}, {result['end']}"

    def open_cell(
        self, cell: BenchCell, cell_folder: Path, stack: AsyncExitStack
    ) -> tuple[Mapping[str, str | Model], Work]:
        """Open the sandbox for programs. Return the models for the roles of agent and decider, and the work."""
        contestant = self.contestant_of(cell)
        is_programming = contestant["agent"] in PROGRAMMING
        programs = SandboxedPrograms(stack.enter_context(Sandbox(self.workers))) if is_programming else None
        names = {
            "agent": contestant["model"] if contestant["agent"] in ASKING else "",
            "decider": self.settings.decider_model or contestant["model"] if self._uses_persona(cell) else "",
        }
        players = {
            role: standing_in(self.problem) if name == SCRIPTED else name for role, name in names.items() if name
        }

        async def run_case(case: LedgerCase) -> object:
            return await self._hold_case(cell, case, programs)

        return players if self.stand_in is None else {"": self.stand_in}, run_case

    async def _hold_case(self, cell: BenchCell, case: LedgerCase, programs: SandboxedPrograms | None) -> dict[str, Any]:
        contestant, settings, number = self.contestant_of(cell), self.settings, int(case.name[:4])
        stakeholder, paradigm = self.stakeholders[number], Paradigm(contestant["paradigm"])
        persona = self.persona(cell, case.name, settings.seed) if self._uses_persona(cell) else None
        if paradigm is Paradigm.DEFAULT:
            default = self.problem.default
            judged = stakeholder(default)
            outcome = ConversationResult(ConversationEnd.NONE, (), default, False, judged.value, judged.maximum)
        else:
            without = frozenset(filter(None, [contestant["without"]]))
            design = Design(contestant["agent"], contestant["tools"], settings.temperature, without)
            opponent = make_agent(design, self.solver, case, programs)
            limit = LIMIT if paradigm is Paradigm.CONVERSATION else 1
            decider = self._make_decider(stakeholder, paradigm, persona, case, in_words=contestant["agent"] in ASKING)
            most_turns = settings.limit or limit if limit > 1 else 1
            talk = Conversation(self.problem, opponent, decider, stakeholder, most_turns, settings.stopping)
            outcome = await talk.hold()
        name = contestant["agent"]
        counts = audit_conversation(self.problem, outcome, knows_solver=name != "C-N-R")
        description = {key: str(getattr(persona, key)) if persona else "" for key in ("role", "style", "feedback")}
        return outcome.to_plain() | {
            "utility": number,
            "traits": dict(stakeholder.profile.traits),
            **description,
            "calls": outcome.calls,
            "audit": {name: getattr(counts, name) for name in COUNTS},
            "findings": [asdict(finding) for finding in counts.findings[:MAX_FINDINGS]],
            "seconds": sum(reply.seconds for reply in case.replies),
            "tokens": sum(reply.tokens_in + reply.tokens_out for reply in case.replies),
        }

    def _make_decider(
        self, stakeholder: Stakeholder, paradigm: Paradigm, persona: Persona | None, case: LedgerCase, *, in_words: bool
    ) -> DecisionAgent:
        if persona is not None:
            return Talking(case, self.problem, stakeholder, persona, self.settings.decider_temperature)
        rule = RULE[self.settings.decider] if paradigm is Paradigm.CONVERSATION else find_rule(paradigm)
        return Asking.of(rule, stakeholder, self.problem, at_once=paradigm is Paradigm.AWARE, in_words=in_words)


def score_case(contestant: Mapping[str, Any], result: Mapping[str, Any]) -> Scored:
    """Return a finished conversation as a score record. Records of older evaluations have no traits."""
    of_contestant = {name: contestant[name] for name in VARIED}
    of_decider = {name: result[name] for name in (*DECIDER, "score", "success", "calls")}
    return Scored(**of_contestant, **of_decider, traits=result.get("traits", {}), turns=len(result["turns"]))
