"""The role *code*: implement an idea, repair failing programs, and read several programs from one reply."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from oragent._base.errors import CandidateError, ConfigError, ReplyError
from oragent.programs.blocks import drop_thoughts, fence_text, language_tag
from oragent.programs.helper_functions import copy_helpers, list_helpers
from oragent.programs.inspection import inspect_program
from oragent.search.candidate import Candidate, Elite
from oragent.search.experiments import read_axes
from oragent.search.prompting.prompt_templates import (
    describe_exceeded_limits,
    edits_request,
    program_request,
    task_messages,
)
from oragent.search.prompting.search_summary import best_elites, describe_champion, summarise_search
from oragent.search.round_context import RoundContext
from oragent.search.strategies.asking import ask_for_program, read_program
from oragent.search.strategies.or_agent import prompt_sections
from oragent.search.strategies.or_agent.sweeps import INSTANCES_WORD
from oragent.search.strategies.or_agent.tree import Idea

DOCUMENTED = {
    False: {"small": "Leave comments and docstring out. ", "strong": ""},
    True: dict.fromkeys(("small", "strong"), "Say the idea, and what you considered, in the function's docstring. "),
}

UNCHANGED = "\n\nThis was answered once already, with this very program: the line must change."


HEAD = re.compile(r"[^\w\n]*(PROGRAM|PROBE)\b[ \t]*\d{0,3}[^\w\n]*:[ \t]*(.*)", re.IGNORECASE)
LINE = re.compile(r"[^\w\n]*(IDEA|SWEEP|LESSON|FROM|USES)\b[^\w\n]*:[ \t]*(.*)", re.IGNORECASE)
# Label of a probe: its round, and its number in the round.
LABEL = re.compile(r"\d+\.\d+")
NAMES = re.compile(r"[A-Za-z_]\w*")
# Number of best programs whose functions can be copied.
LIBRARIES = 6
FENCE = re.compile(r"\s*(?:```|~~~)")
SPACES = re.compile(r"\s*([=,]|\.\.)\s*")
# Maximum numbers of characters.
MAX_TITLE, MAX_IDEA, MAX_LESSON = 100, 600, 300


async def implement_idea(run: RoundContext, idea: Idea, start: Sequence[Elite], memory: str) -> Candidate:
    """Ask for a program that implements an idea and score it. If it fails, ask for a repair."""
    # Text of the program in the prompt; edits apply to it.
    base = _shown_text(run, start[-1])
    text = write_prompt(run, idea, start, memory)
    asking = ask_for_program(run, "code", task_messages(run, text), start, run.temperature("code"), base)
    return await debug_program(run, await asking, run.own.debugging)


def write_prompt(run: RoundContext, idea: Idea, start: Sequence[Elite], memory: str) -> str:
    """Write the prompt: the problem, the memory, the starting programs, and the idea."""
    programs = prompt_sections.programs_section(run, start, "change", partial(_shown_text, run))
    return run.fill_template(
        "or_agent_code",
        run.style,
        **_answer_format(run, _shown_text(run, start[-1])),
        title=idea.title,
        idea=idea.text,
        programs=programs + describe_champion(run, start),
        memory=prompt_sections.memory_section(memory),
        documented=DOCUMENTED[run.own.docstrings][run.style],
        standing=summarise_search(run, start[-1]),
    )


async def debug_program(run: RoundContext, candidate: Candidate, attempts: int) -> Candidate:
    """Ask for repairs of a failing program, at most ``attempts`` times.

    A reply without a program counts as an attempt.
    """
    again = ""
    for _ in range(attempts):
        failed = candidate
        if not failed.evaluation.status.failed or not failed.evaluation.was_started:
            return candidate
        program, trouble = failed.source.strip(), fence_text(prompt_sections.describe_failure(failed.evaluation))
        trouble += describe_exceeded_limits(run, failed.evaluation)
        values = {"program": fence_text(program, language_tag(program)), "trouble": trouble, "again": again}
        failing_line = prompt_sections.failing_line(failed.source, failed.evaluation)
        text = run.fill_template("or_agent_debug", run.style, **values, **_answer_format(run, program, failing_line))
        candidate = await ask_for_program(run, "debug", task_messages(run, text), [failed], run.temperature("code"))
        again = UNCHANGED if candidate.source.strip() == program else ""
    return candidate


def _shown_text(run: RoundContext, elite: Elite) -> str:
    if run.own.docstrings:
        return elite.source
    return prompt_sections.drop_docstrings(elite.source)


def _answer_format(run: RoundContext, base: str, first_line: str = "") -> dict[str, str]:
    """Return the form of the reply. ``base`` is the program to change, and example edits begin at ``first_line``."""
    changes = edits_request(run, base, first_line)
    return {
        **program_request(run),
        "edits": changes,
        "answer": run.fill_template("answer_code", run.style, **program_request(run), edits=changes),
    }


@dataclass(frozen=True)
class ProgramDraft:
    """Part of a reply: a program or a probe."""

    # Title of the program, a few words.
    title: str
    # Description of the program.
    idea: str
    # Text of the program; empty if the part is unusable.
    source: str
    # Text of the part.
    text: str
    # Reason why the part is unusable; empty if it is usable.
    problem: str = ""
    # Numbers with values to try before the program is scored, in the form that ``read_axes`` reads.
    axes: tuple[str, ...] = ()
    # True if the program is only run for its printed output.
    is_probe: bool = False
    # Words of its SWEEP line that cannot be used, with the reason; empty if all can.
    remark: str = ""

    @property
    def name(self) -> str:
        """Title in quotes, or a description of a part without one."""
        return repr(self.title) if self.title else "a part without a title"


def read_drafts(
    run: RoundContext,
    text: str,
    base: str | None,
    limit: int,
    probes: Mapping[str, str] | None = None,
    libraries: Sequence[str] = (),
) -> list[ProgramDraft]:
    """Read the parts of a reply, at most ``limit``.

    Args:
        run: Round that asked.
        text: Reply.
        base: Program to which edits apply; None if the prompt shows none.
        limit: Maximum number of parts.
        probes: Programs of probes by label. A part with a line FROM edits the program with this label.
        libraries: Programs of ``library_programs``, whose functions a line USES can name. They are an argument because
            this function may run in another thread, which cannot read the database of the run.

    Raises:
        ReplyError: No part can be used.
    """
    parts = _split_parts(drop_thoughts(text))[:limit]
    drafts = [_read_part(run, head, lines, base, probes or {}, libraries) for head, lines in parts]
    # Parts with a title are repaired together, without the whole prompt again.
    if not any(draft.source or (draft.title and draft.text) for draft in drafts):
        raise ReplyError(drafts[0].problem if drafts else "the reply contains no program")
    return drafts


def read_lesson(text: str) -> str:
    """Return the lesson at the beginning of a reply; empty if there is none."""
    for line in drop_thoughts(text).split("\n"):
        if HEAD.fullmatch(line):
            break
        if (match := LINE.fullmatch(line)) and match[1].upper() == "LESSON":
            return " ".join(match[2].split())[:MAX_LESSON]
    return ""


def _split_parts(text: str) -> list[tuple[tuple[str, str], list[str]]]:
    parts: list[tuple[tuple[str, str], list[str]]] = []
    preceding: list[str] = []
    is_fenced = False
    for line in text.split("\n"):
        is_fenced ^= bool(FENCE.match(line))
        if not is_fenced and (match := HEAD.fullmatch(line)):
            parts.append(((match[1].upper(), match[2].strip(" *`#")), []))
        else:
            (parts[-1][1] if parts else preceding).append(line)
    return parts or [(("PROGRAM", ""), preceding)]


def _read_part(
    run: RoundContext,
    head: tuple[str, str],
    lines: Sequence[str],
    base: str | None,
    probes: Mapping[str, str],
    libraries: Sequence[str],
) -> ProgramDraft:
    kind, title = head
    values: dict[str, str] = {}
    for line in lines:
        if match := LINE.fullmatch(line):
            values.setdefault(match[1].upper(), " ".join(match[2].split()))
    text = "\n".join(line for line in lines if not LINE.fullmatch(line)).strip()
    title, idea = title[:MAX_TITLE], values.get("IDEA", "")[:MAX_IDEA]
    if label := LABEL.search(values.get("FROM", "")):
        base = probes.get(label[0], base)
    try:
        source = _copy_used(run, read_program(run, text, base), values.get("USES", ""), libraries)
    except ReplyError as problem:
        return ProgramDraft(title, idea, "", text, str(problem), is_probe=kind == "PROBE")
    axes, remark = _read_axes(values.get("SWEEP", ""), source)
    return ProgramDraft(title, idea, source, text, "", axes, kind == "PROBE", remark)


def _copy_used(run: RoundContext, source: str, words: str, libraries: Sequence[str]) -> str:
    """Return a program with the functions of earlier programs that a USES line names.

    Unknown names raise ReplyError.
    """
    names = NAMES.findall(words)
    if not names:
        return source
    try:
        merged = copy_helpers(source, names, find_helpers(run, libraries))
    except CandidateError as problem:
        raise ReplyError(str(problem)) from None
    inspected = inspect_program(merged, run.problem.signature)
    if inspected.problem:
        raise ReplyError(inspected.problem)
    return merged


def library_programs(run: RoundContext) -> list[str]:
    """Return the best programs, whose functions a new program can use."""
    signature = run.problem.signature
    # A program of several files, or with fixed parts, has no place for copies.
    if signature.language != "python" or signature.files or signature.frame:
        return []
    return [elite.source for elite in best_elites(run)[:LIBRARIES]]


def find_helpers(run: RoundContext, libraries: Sequence[str]) -> dict[str, str]:
    """Return the texts of programs by the names of their functions.

    Of several programs with a function, the best counts.
    """
    helpers: dict[str, str] = {}
    for source in libraries:
        with suppress(CandidateError):
            for name in list_helpers(source, run.problem.signature.functions):
                helpers.setdefault(name, source)
    return helpers


def _read_axes(text: str, source: str) -> tuple[tuple[str, ...], str]:
    """Return the words of a SWEEP line that can be used, and why others cannot; the reason may be empty."""
    words, problems = [], []
    for word in filter(None, (word.strip("`*,;-") for word in SPACES.sub(r"\1", text).split())):
        try:
            if not INSTANCES_WORD.fullmatch(word):
                read_axes([word], source)
            words.append(word)
        except (CandidateError, ConfigError) as problem:
            problems.append(str(problem))
    try:
        read_axes([word for word in words if not INSTANCES_WORD.fullmatch(word)], source)
    except ConfigError as problem:
        return (), "; ".join(problems or [str(problem)] if text else [])
    return tuple(words), "; ".join(problems)
