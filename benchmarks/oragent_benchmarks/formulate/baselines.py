"""Baseline methods: one prompt, trees and graphs of thoughts, ReAct, and methods of several roles.

As in the published methods, the answer is the last program.

Tree of thoughts (Yao et al. 2023, arXiv:2305.10601): partial formulations are extended by variables, constraints and
objective; each is scored by a call, and the best are kept. Graph of thoughts (Besta et al. 2024, arXiv:2308.09687)
merges the best ones before each next step. Difference from the sources: only breadth-first search is implemented.

ReAct (Yao et al. 2023, arXiv:2210.03629): thought, action, observation, at most eight times. Difference from the
source:
the actions are to look up a modelling pattern and to run a program. A repeated program, or a reply without an
action, ends the loop.
"""

import difflib
import re
from collections.abc import Mapping, Sequence
from typing import Any

from oragent._base.errors import ReplyError
from oragent._base.prompt_templates import PromptFolder
from oragent.formulate.methods import Method
from oragent.formulate.prompting import extract_program
from oragent.formulate.session import FormulationAttempt, FormulationSession, empty_attempt
from oragent.llm.model import Message
from oragent.modelling.data.solution import TOLERANCES

PROMPTS = PromptFolder("oragent_benchmarks.formulate")
MAX_HINTS = 5
MAX_TRIALS = 3
STEPS = ("variables", "constraints", "objective")
PROPOSED, KEPT = 3, 2
PATTERNS: Mapping[str, str] = {
    "ratio": "x is at least 70 % of x + y: x >= 0.7 * (x + y), linear; never divide by a variable",
    "fixed cost": "cost f if x > 0: binary z, x <= M * z with the smallest M that holds, cost f * z",
    "either or": "one of two rows: binary z, a <= b + M * z and c <= d + M * (1 - z)",
    "at least k": "at least k of n: sum of binaries >= k",
    "implication": "if a then b, for binaries: a <= b",
    "absolute value": "|e| in a minimisation: t >= e, t >= -e, minimise t",
    "maximum": "smallest largest value: t >= every value, minimise t; largest smallest: t <= every value, maximise t",
    "inventory": "stock after a period = stock before + made - sold; the first stock is given, stocks are not negative",
    "assignment": "binary x[i, j]; every i once: sum over j = 1; every j at most once: sum over i <= 1",
    "transport": "amount x[i, j] >= 0; sum over j <= supply of i; sum over i >= demand of j",
    "flow": "what enters a node leaves it, but for source and sink; each arc within its capacity",
    "covering": "every element is in a set that is chosen: sum of the binaries of its sets >= 1",
    "knapsack": "sum of weights of what is chosen <= capacity; binaries, or integers where several may be taken",
    "blending": "share of a part in a mix: amount of the part >= share * amount of the whole",
    "ordering": "i before j: start[j] >= start[i] + time[i] - M * (1 - before[i, j])",
    "tour": "every place entered and left once; u[i] - u[j] + n * x[i, j] <= n - 1 but for the first place",
    "integer": "people, trips, machines and pills come in whole numbers: cat='Integer'; litres and hours do not",
    "piecewise": "a cost with falling steps needs binaries; one with rising steps in a minimisation does not",
}
MAX_ACTIONS = 8
# Maximum number of characters of values in a prompt.
MAX_VALUE_CHARACTERS = 2000
LOOKUP = re.compile(r"^\W*lookup\W*:\s*(.+)$", re.IGNORECASE | re.MULTILINE)
EXPERTS = {
    "terminology": "explains the terms of the business",
    "parameters": "takes the parameters and their units out of the text",
    "modelling": "writes variables, constraints and objective",
    "modelling_knowledge": "knows which patterns of modelling fit",
    "programming_example": "shows how such models are written with PuLP",
    "programming": "writes the program",
    "lp_file": "writes the model as an LP file, to see that it is linear",
    "reviewer": "looks for mistakes in what was said",
}
ASKED, TRIALS = 4, 3
DEBUGS, MAX_CLAUSES = 3, 30


def _fill(session: FormulationSession, template: str, **values: object) -> str:
    return session.fill_prompt(template, PROMPTS, **values)


async def standard(session: FormulationSession) -> FormulationAttempt:
    """Ask once and run the program once."""
    return await session.ask_and_run("standard", _fill(session, "standard"))


async def cot(session: FormulationSession) -> FormulationAttempt:
    """Ask for step-by-step reasoning once, and run the program once."""
    return await session.ask_and_run("cot", f"{_fill(session, 'standard')}\n\n{_fill(session, 'cot')}")


async def spp(session: FormulationSession) -> FormulationAttempt:
    """Ask once with several simulated experts, and run the program once."""
    return await session.ask_and_run("spp", f"{_fill(session, 'standard')}\n\n{_fill(session, 'spp')}")


async def progressive_hint(session: FormulationSession) -> FormulationAttempt:
    """Ask with the previous objectives as hints."""
    hints: list[float] = []
    for _ in range(MAX_HINTS):
        hint_text = ", ".join(f"{hint:.10g}" for hint in hints)
        prompt = _fill(session, "standard") + (f"\n\n{_fill(session, 'hint', hints=hint_text)}" if hints else "")
        objective = (await session.ask_and_run("progressive_hint", prompt)).ran.objective
        if objective is not None:
            if hints and TOLERANCES["strict"].accepts(objective, hints[-1]):
                break
            hints.append(objective)
    return session.newest


async def reflexion(session: FormulationSession) -> FormulationAttempt:
    """Write, run, reflect, and repeat."""
    memory: list[str] = []
    for trial in range(MAX_TRIALS):
        lessons = "\n".join(f"- {lesson}" for lesson in memory)
        memory_text = _fill(session, "reflexion", memory=lessons) if memory else ""
        now = await session.ask_and_run("reflexion", f"{_fill(session, 'standard')}\n\n{memory_text}".strip())
        if trial == MAX_TRIALS - 1:
            break
        prompt = _fill(session, "reflection", program=now.source.strip() or "(none)", outcome=outcome_text(now))
        remark = await session.ask_words("reflection", prompt)
        if remark.upper().startswith("CORRECT"):
            break
        memory.append(remark)
    return session.newest


async def tot(session: FormulationSession) -> FormulationAttempt:
    """Keep the best partial formulations at every step."""
    return await _grow_thoughts(session, unite=False)


async def got(session: FormulationSession) -> FormulationAttempt:
    """Keep the best partial formulations, and merge them before the next step."""
    return await _grow_thoughts(session, unite=True)


async def _grow_thoughts(session: FormulationSession, unite: bool) -> FormulationAttempt:
    survivors = [""]
    for step in STEPS:
        if unite and len(survivors) > 1:
            joined = "\n\n---\n\n".join(survivors)
            survivors = [await session.ask_words("unite", _fill(session, "unite", partial=joined))]
        grown = [text for partial in survivors for text in await _propose(session, step, partial)]
        scored = [(await _score_thought(session, text), -index, text) for index, text in enumerate(grown)]
        survivors = [text for _, _, text in sorted(scored, reverse=True)[:KEPT]] or survivors
    role = "got" if unite else "tot"
    return await session.ask_and_run(
        role, f"{_fill(session, 'standard')}\n\n{_fill(session, 'formulated', partial=survivors[0])}"
    )


async def _propose(session: FormulationSession, step: str, partial: str) -> Sequence[str]:
    prompt = _fill(session, "propose", step=step, partial=partial or "(nothing)", count=PROPOSED)
    proposals = await session.ask_data("propose", prompt, list)
    return [f"{partial}\n{step}: {proposal}".strip() for proposal in (proposals or [])[:PROPOSED]]


async def _score_thought(session: FormulationSession, partial: str) -> int:
    try:
        text = await session.ask_words("score", _fill(session, "score", partial=partial))
    except ReplyError:
        return 0
    match = re.search(r"\d+", text)
    if match:
        return min(10, int(match.group()[:3]))
    return 0


def look_up_pattern(term: str) -> str:
    """Return the modelling pattern of a term or of the most similar one, or else the list of terms."""
    near = difflib.get_close_matches(term.lower().strip(), PATTERNS, 1, 0.5)
    if near:
        return f"{near[0]}: {PATTERNS[near[0]]}"
    return f"nothing on that; terms: {', '.join(PATTERNS)}"


async def react(session: FormulationSession) -> FormulationAttempt:
    """Alternate actions and observations until an action is repeated or missing."""
    instructions = _fill(session, "react", terms=", ".join(PATTERNS), most=MAX_ACTIONS)
    messages = [Message("user", f"{_fill(session, 'standard')}\n\n{instructions}")]
    for _ in range(MAX_ACTIONS):
        reply = await session.case.ask("react", messages, session.options.temperature)
        observed = await _act(session, reply.text)
        if not observed:
            break
        messages += [
            Message("assistant", reply.text),
            Message("user", _fill(session, "observation", observation=observed)),
        ]
    if not session.attempts:
        session.attempts.append(empty_attempt("react", 0, "no program was run"))
    return session.newest


async def _act(session: FormulationSession, text: str) -> str:
    """Return the result of an action; empty without a new action."""
    try:
        source = extract_program(text, session.problem.interface.function)
    except ReplyError:
        match = LOOKUP.search(text)
        if match:
            return look_up_pattern(match[1])
        return ""
    if session.attempts and session.newest.source == source:
        return ""
    return outcome_text(await session.run_program("react", source))


def outcome_text(attempt: FormulationAttempt) -> str:
    """Describe the result of a program for the model that wrote it."""
    if attempt.has_failed:
        return attempt.error
    values = str(attempt.ran.values)
    shown = values if len(values) <= MAX_VALUE_CHARACTERS else f"{values[:MAX_VALUE_CHARACTERS]}..."
    return f"status {attempt.ran.status}, objective {attempt.ran.objective}, values {shown}"


async def coe(session: FormulationSession) -> FormulationAttempt:
    """Ask experts, summarise their answers, run the program, and return errors to them."""
    comments: list[tuple[str, str]] = []
    while len(comments) < ASKED:
        name = await _choose_expert(session, comments)
        prompt = _fill(session, "coe_expert", expert=name, what=EXPERTS[name], comments=_comments_text(comments))
        comments.append((name, await session.ask_words("coe_expert", prompt)))
    for trial in range(TRIALS):
        comments_text = _fill(session, "coe_comments", comments=_comments_text(comments))
        now = await session.ask_and_run("coe_reducer", f"{_fill(session, 'standard')}\n\n{comments_text}")
        if not now.has_failed or trial == TRIALS - 1:
            break
        await _send_back(session, comments, now.error)
    return session.newest


async def _choose_expert(session: FormulationSession, comments: list[tuple[str, str]]) -> str:
    consulted = {name for name, _ in comments}
    remaining = [name for name in EXPERTS if name not in consulted]
    team = "\n".join(f"- {name}: {EXPERTS[name]}" for name in remaining)
    prompt = _fill(session, "coe_conductor", team=team, comments=_comments_text(comments), most=ASKED - len(comments))
    reply = await session.ask_words("coe_conductor", prompt)
    return next((word for word in re.findall(r"[a-z_]+", reply.lower()) if word in remaining), remaining[0])


async def _send_back(session: FormulationSession, comments: list[tuple[str, str]], feedback: str) -> None:
    for index in reversed(range(len(comments))):
        name, comment = comments[index]
        prompt = _fill(session, "coe_backward", expert=name, comment=comment, feedback=feedback)
        answer = await session.ask_data("coe_backward", prompt, dict)
        if answer is not None and answer.get("refined"):
            comments[index] = (name, str(answer["refined"]))
        if answer is not None and answer.get("caused_by_me") is True:
            return


def _comments_text(comments: list[tuple[str, str]]) -> str:
    return "\n\n".join(f"## {name}\n{comment}" for name, comment in comments) or "(nothing)"


async def optimus(session: FormulationSession) -> FormulationAttempt:
    """Split the problem, formulate and code each part, assemble, run, and debug."""
    parts_found: dict[str, Any] = (
        await session.ask_data("optimus_extract", _fill(session, "optimus_extract"), dict) or {}
    )
    variables = (
        "\n".join(f"- {name}" for name in _as_texts(parts_found.get("variables"))) or "- as the problem needs them"
    )
    clauses = [*_as_texts(parts_found.get("constraints")), *_as_texts(parts_found.get("objective"))][:MAX_CLAUSES]
    parts = [await _write_part(session, variables, clause) for clause in clauses]
    parts_text = _fill(session, "optimus_parts", parts="\n\n".join([variables, *parts]))
    await session.ask_and_run("optimus_assemble", f"{_fill(session, 'standard')}\n\n{parts_text}")
    for _ in range(DEBUGS):
        now = session.newest
        if not now.has_failed:
            break
        prompt = session.fill_prompt("supervisor_backward", program=now.source.strip() or "(none)", feedback=now.error)
        await session.ask_and_run("optimus_debug", prompt)
    return session.newest


async def _write_part(session: FormulationSession, variables: str, clause: str) -> str:
    latex = await _say_or_nothing(session, "optimus_clause", variables=variables, clause=clause)
    code = await _say_or_nothing(session, "optimus_code", variables=variables, clause=clause, latex=latex)
    return f"## {clause}\n{latex}\n{code}"


async def _say_or_nothing(session: FormulationSession, role: str, **values: str) -> str:
    try:
        return await session.ask_words(role, _fill(session, role, **values))
    except ReplyError:
        return ""


def _as_texts(value: Any) -> list[str]:
    if isinstance(value, list):
        return [str(item) for item in value]
    if value:
        return [str(value)]
    return []


BASELINES: Mapping[str, Method] = {
    "standard": standard,
    "cot": cot,
    "progressive_hint": progressive_hint,
    "tot": tot,
    "got": got,
    "react": react,
    "reflexion": reflexion,
    "spp": spp,
    "coe": coe,
    "optimus": optimus,
}
