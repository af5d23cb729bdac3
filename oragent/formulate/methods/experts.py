"""Methods with several roles: Chain-of-Experts and OptiMUS."""

import re
from typing import Any

from oragent._base.errors import ReplyError
from oragent.formulate.session import FormulationAttempt, FormulationSession

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


async def coe(session: FormulationSession) -> FormulationAttempt:
    """Ask experts, reduce, run, and send an error back."""
    comments: list[tuple[str, str]] = []
    while len(comments) < ASKED:
        name = await _choose_expert(session, comments)
        prompt = session.fill_prompt("coe_expert", expert=name, what=EXPERTS[name], comments=_comments_text(comments))
        comments.append((name, await session.ask_words("coe_expert", prompt)))
    for trial in range(TRIALS):
        comments_text = session.fill_prompt("coe_comments", comments=_comments_text(comments))
        now = await session.ask_and_run("coe_reducer", f"{session.fill_prompt('standard')}\n\n{comments_text}")
        if not now.has_failed or trial == TRIALS - 1:
            break
        await _send_back(session, comments, now.error)
    return session.newest


async def _choose_expert(session: FormulationSession, comments: list[tuple[str, str]]) -> str:
    consulted = {name for name, _ in comments}
    remaining = [name for name in EXPERTS if name not in consulted]
    team = "\n".join(f"- {name}: {EXPERTS[name]}" for name in remaining)
    prompt = session.fill_prompt(
        "coe_conductor", team=team, comments=_comments_text(comments), most=ASKED - len(comments)
    )
    reply = await session.ask_words("coe_conductor", prompt)
    return next((word for word in re.findall(r"[a-z_]+", reply.lower()) if word in remaining), remaining[0])


async def _send_back(session: FormulationSession, comments: list[tuple[str, str]], feedback: str) -> None:
    for index in reversed(range(len(comments))):
        name, comment = comments[index]
        prompt = session.fill_prompt("coe_backward", expert=name, comment=comment, feedback=feedback)
        answer = await session.ask_data("coe_backward", prompt, dict)
        if answer is not None and answer.get("refined"):
            comments[index] = (name, str(answer["refined"]))
        if answer is not None and answer.get("caused_by_me") is True:
            return


def _comments_text(comments: list[tuple[str, str]]) -> str:
    return "\n\n".join(f"## {name}\n{comment}" for name, comment in comments) or "(nothing)"


DEBUGS, MOST_CLAUSES = 3, 30


async def optimus(session: FormulationSession) -> FormulationAttempt:
    """Take apart, formulate and code each part, assemble, run, debug."""
    parts_found: dict[str, Any] = (
        await session.ask_data("optimus_extract", session.fill_prompt("optimus_extract"), dict) or {}
    )
    variables = (
        "\n".join(f"- {name}" for name in _as_texts(parts_found.get("variables"))) or "- as the problem needs them"
    )
    clauses = [*_as_texts(parts_found.get("constraints")), *_as_texts(parts_found.get("objective"))][:MOST_CLAUSES]
    parts = [await _write_part(session, variables, clause) for clause in clauses]
    parts_text = session.fill_prompt("optimus_parts", parts="\n\n".join([variables, *parts]))
    await session.ask_and_run("optimus_assemble", f"{session.fill_prompt('standard')}\n\n{parts_text}")
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
        return await session.ask_words(role, session.fill_prompt(role, **values))
    except ReplyError:
        return ""


def _as_texts(value: Any) -> list[str]:
    if isinstance(value, list):
        return [str(item) for item in value]
    return [str(value)] if value else []
