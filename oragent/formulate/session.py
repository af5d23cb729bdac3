"""Session on one problem: prompts, replies, attempts."""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

from oragent._base.errors import ReplyError
from oragent._base.prompt_templates import PromptFolder
from oragent.formulate.appeals import Dispute
from oragent.formulate.audit import find_mismatches
from oragent.formulate.checks import Checked, CheckStatus, judge
from oragent.formulate.data import describe_data
from oragent.formulate.metamorphic_tests import PropertyResult, run_metamorphic_tests
from oragent.formulate.options import ACCEPTED_GAP, Options
from oragent.formulate.problem import ProblemText
from oragent.formulate.prompting import (
    ORAGENT,
    PERSON,
    PROMPTS,
    CommentPool,
    PoolEntry,
    describe_library,
    extract_program,
    fence_headings,
)
from oragent.formulate.running import ExecutionResult, FormulationRunner
from oragent.ledger.case import LedgerCase
from oragent.llm.dialogue import ask_until_read
from oragent.llm.model import Message
from oragent.modelling.data.solution import SolveStatus, SolveVerdict
from oragent.programs.blocks import drop_thoughts, fenced_blocks
from oragent.programs.replies import extract_json

T = TypeVar("T")
PersonQuestion = Callable[[Mapping[str, Any]], str]


@dataclass(frozen=True)
class FormulationAttempt:
    """A program with its result and its checks."""

    number: int
    origin: str
    # Text of the program; empty if the reply has none.
    source: str
    # Result of the run.
    ran: ExecutionResult
    # Result of the check; None before the check.
    checked: Checked | None = None
    # Relative gap within which an unproven point is an answer.
    gap: float = 0.0
    # Results of the metamorphic tests; None before they run.
    properties: tuple[PropertyResult, ...] | None = None

    @property
    def has_failed(self) -> bool:
        """Return True if no model was solved."""
        return self.ran.verdict is not None

    @property
    def is_refused(self) -> bool:
        """Return True if the program or the formalization states that the problem has no exact linear model."""
        return self.ran.verdict is SolveVerdict.UNSUPPORTED

    @property
    def error(self) -> str:
        """Error message with its line, for a model."""
        parts = [f"{self.ran.verdict}: {self.ran.message}", self.ran.traceback.strip()]
        return "\n".join(part for part in parts if part)

    @property
    def is_answer(self) -> bool:
        """Return True for an optimum within the gap, or another outcome that the checks confirm."""
        status = self.ran.status
        if status in (SolveStatus.INFEASIBLE, SolveStatus.UNBOUNDED):
            return self.checked is not None and self.checked.confirmed
        solution = self.ran.solution
        near = solution is not None and solution.gap is not None and solution.gap <= (self.gap or ACCEPTED_GAP)
        return status is SolveStatus.OPTIMAL or (status is SolveStatus.FEASIBLE and near)

    @property
    def rank(self) -> tuple[int, int, int]:
        """Order of attempts: proven status first, then the result of the checks."""
        proven = {SolveStatus.OPTIMAL: 3, SolveStatus.FEASIBLE: 2, SolveStatus.INFEASIBLE: 1, SolveStatus.UNBOUNDED: 1}
        status = self.ran.status
        if self.is_answer:
            level = 3
        elif status:
            level = proven.get(status, 0)
        elif self.is_refused:
            level = 0
        else:
            level = -1
        if self.checked is None or self.checked.state is CheckStatus.UNCHECKED:
            return level, -1, 0
        failed = sum(result.holds is False for result in self.properties or ())
        passed = self.checked.state is CheckStatus.PASSED and not failed
        return level, int(passed), -len(self.checked.findings) - failed


def best_attempt(attempts: Sequence[FormulationAttempt]) -> FormulationAttempt:
    """Return the best attempt. Of equally good ones the earliest counts, so that only an improvement replaces it.

    The list must not be empty.
    """
    return max(attempts, key=lambda attempt: (*attempt.rank, -attempt.number))


def empty_attempt(
    origin: str, number: int, problem: str, verdict: SolveVerdict = SolveVerdict.COMPILE_ERROR
) -> FormulationAttempt:
    """Return an attempt without a program."""
    return FormulationAttempt(number, origin, "", ExecutionResult(verdict, problem))


@dataclass
class FormulationSession:
    """State of one problem that the modules of a method share.

    Attributes:
        checker: Text of the checker; empty before it is written.
        readings: Sentences with two readings, and the result of the other one.
        disputes: Findings on which program and checker insist.
        withdrawn: Findings that the author of the checker withdrew after an appeal of the program's author.
        compares_rules: Whether checks compare each rule on its own.
        ask_person: Function that shows how the text was read and returns a clarification, which may be empty. None
            without a user.
    """

    case: LedgerCase
    problem: ProblemText
    options: Options
    runner: FormulationRunner
    pool: CommentPool = field(default_factory=CommentPool)
    attempts: list[FormulationAttempt] = field(default_factory=list)
    checker: str = ""
    readings: list[dict[str, Any]] = field(default_factory=list)
    disputes: tuple[Dispute, ...] = ()
    withdrawn: tuple[Dispute, ...] = ()
    compares_rules: bool = False
    calls: int = 0
    ask_person: PersonQuestion | None = None

    @property
    def problem_text(self) -> str:
        """Text of the problem for prompts."""
        text = self.problem.text.strip()
        if self.problem.background:
            return f"{text}\n\nBackground: {self.problem.background}"
        return text

    @property
    def data(self) -> Mapping[str, Any]:
        """Arguments of a program: values from the encoder, overridden by given data of the same name."""
        encoded = self.pool.parsed_of("semantic_encoder").items()
        values = {
            name: about["Value"]
            for name, about in encoded
            if isinstance(about, dict) and about.get("Value") is not None
        }
        return {**values, **self.problem.data}

    @property
    def newest(self) -> FormulationAttempt:
        """Last attempt."""
        return self.attempts[-1]

    def best_attempt(self) -> FormulationAttempt:
        """Return the answer: the best attempt, or the newest one if the best is not kept."""
        if self.options.keep_best:
            return best_attempt(self.attempts)
        return self.newest

    def fill_prompt(self, template: str, prompts: PromptFolder = PROMPTS, /, **values: object) -> str:
        """Fill a template of a folder with the problem, its data, the pool and the interface."""
        defaults = {
            "problem": fence_headings(self.problem_text),
            "data": describe_data(self.data, self.problem.notes),
            "pool": self.pool.prompt_text,
            "interface": self.problem.interface.source,
            "function": self.problem.interface.function,
            **describe_library(self.newest.source if self.attempts else ""),
            "attention": self.options.attention or self.problem.interface.attention or "none",
        }
        return prompts.fill(template, **{**defaults, **values})

    async def ask_words(self, role: str, prompt: str) -> str:
        """Ask for text, and add it to the pool."""

        def read_words(text: str) -> str:
            if not text.strip():
                raise ReplyError("the reply is empty")
            return text.strip()

        return await self._ask(role, prompt, read_words)

    async def ask_data(self, role: str, prompt: str, form: type) -> Any:
        """Ask for JSON of a type, ``dict`` or ``list``. Return None after two unusable replies."""

        def read_data(text: str) -> Any:
            value = extract_json(text)
            if not isinstance(value, form):
                raise ReplyError(f"the JSON is a {type(value).__name__}; answer with a {form.__name__} as asked")
            return value

        try:
            return await self._ask(role, prompt, read_data)
        except ReplyError:
            return None

    async def ask_program(self, role: str, prompt: str, function: str | None = None) -> str:
        """Ask for a program.

        Raises:
            ReplyError: Two replies had no program.
        """
        name = function or self.problem.interface.function
        return await self._ask(role, prompt, lambda text: extract_program(text, name))

    async def ask_program_with_facts(self, role: str, prompt: str) -> str:
        """Ask for a program and a JSON object about it, which is stored as the formalization.

        Raises:
            ReplyError: Two replies had no program.
        """
        name = self.problem.interface.function
        facts: dict[str, Any] = {}

        def read_both(text: str) -> str:
            source = extract_program(text, name)
            facts.clear()
            facts.update(extract_facts(text))
            return source

        source = await self._ask(role, prompt, read_both)
        if facts:
            self.pool.append(PoolEntry("formalization", json.dumps(facts, ensure_ascii=False), dict(facts)))
        return source

    async def ask_and_run(self, role: str, prompt: str) -> FormulationAttempt:
        """Ask for a program and run it. A reply without a program is a failed attempt."""
        try:
            source = await self.ask_program(role, prompt)
        except ReplyError as problem:
            self.attempts.append(empty_attempt(role, len(self.attempts), str(problem)))
            return self.newest
        return await self.run_program(role, source)

    async def run_program(self, role: str, source: str) -> FormulationAttempt:
        """Run a program on the problem's data."""
        ran = await asyncio.to_thread(self.runner.run_program, source, self.problem.interface, self.data)
        self.attempts.append(FormulationAttempt(len(self.attempts), role, source, ran, gap=self.options.gap))
        return self.newest

    async def test_newest(self) -> tuple[PropertyResult, ...]:
        """Run the metamorphic tests on the newest attempt, with the units from the modules."""
        now = self.newest
        properties = await asyncio.to_thread(
            run_metamorphic_tests,
            self.runner,
            now.source,
            self.problem.interface,
            self.data,
            self.pool.parsed_of("semantic_encoder"),
            unit=str(self.pool.parsed_of("formalization").get("UNIT") or ""),
            checker=self.checker,
        )
        self.attempts[-1] = replace(now, properties=properties)
        return properties

    async def check_newest(self) -> FormulationAttempt:
        """Check the newest attempt. Without a solution or a checker, it stays unchecked."""
        now = self.newest
        if now.has_failed or not self.checker:
            checked = Checked(CheckStatus.UNCHECKED, note="no solution to check" if now.has_failed else "no checker")
        else:
            run = partial(self.runner.run_checker, compares_rules=self.compares_rules)
            report = await asyncio.to_thread(run, self.checker, now.ran, self.problem.data)
            checked = judge(now.ran, report, self.options.for_form(self.problem.interface.form))
        self.attempts[-1] = replace(now, checked=checked)
        return self.newest

    def add_note(self, module: str, text: str) -> None:
        """Add computed text to the pool."""
        self.pool.append(PoolEntry(module, text, author=ORAGENT))

    def audit_data(self) -> None:
        """Compare the given data with the encoder's parameters, and add the differences to the pool."""
        if wrong := find_mismatches(self.pool.parsed_of("semantic_encoder"), self.problem.data):
            self.add_note("data", "\n- ".join(["The data are not what the parameters say:", *wrong]))

    async def _ask(self, role: str, prompt: str, read: Callable[[str], T]) -> T:
        """Send a prompt. An unusable reply is sent back once, with the reason."""
        if role in self.options.edits and role not in {entry.module for entry in self.pool}:
            text = self.options.edits[role]
            answer = read(text)
            self.pool.append(PoolEntry(role, text, _structured(answer), author=PERSON))
            return answer
        received = await ask_until_read(
            lambda messages, _: self.case.ask(role, messages, self.options.temperature), [Message("user", prompt)], read
        )
        tokens = sum(reply.tokens_in + reply.tokens_out for reply in received.replies)
        self.pool.append(PoolEntry(role, received.reply.text, _structured(received.value), tokens=tokens))
        if received.value is None:
            raise ReplyError(received.problem)
        return received.value


def extract_facts(text: str) -> dict[str, Any]:
    """Return the JSON object in a reply that also has a program; empty if there is none."""
    blocks, _ = fenced_blocks(drop_thoughts(text))
    for block in blocks:
        if block.text.lstrip().startswith("{"):
            try:
                value = extract_json(block.text)
            except ReplyError:
                continue
            return value if isinstance(value, dict) else {}
    return {}


def _structured(answer: object) -> Any:
    if isinstance(answer, dict | list):
        return answer
    return None
