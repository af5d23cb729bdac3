"""OptiMUS (AhmadiTeshnizi et al. 2024, arXiv:2402.10172): parts are formulated and coded one by one, then put together.

Differs from the source: the parts are put together by a call and not by a template, as the interface is anybody's; no
connection graph cuts the prompts.
"""

from typing import Any

from oragent._base.errors import ReplyError
from oragent.formulate.attempts import FormulationAttempt
from oragent.formulate.session import FormulationSession

DEBUGS, MOST_CLAUSES = 3, 30


async def optimus(session: FormulationSession) -> FormulationAttempt:
    """Take apart, formulate and code each part, assemble, run, debug."""
    found: dict[str, Any] = await session.data_of("optimus_extract", session.prompt("optimus_extract"), dict) or {}
    variables = "\n".join(f"- {one}" for one in _listed(found.get("variables"))) or "- as the problem needs them"
    clauses = [*_listed(found.get("constraints")), *_listed(found.get("objective"))][:MOST_CLAUSES]
    parts = [await _part(session, variables, clause) for clause in clauses]
    told = session.prompt("optimus_parts", parts="\n\n".join([variables, *parts]))
    await session.attempt("optimus_assemble", f"{session.prompt('standard')}\n\n{told}")
    for _ in range(DEBUGS):
        now = session.newest
        if not now.failed:
            break
        prompt = session.prompt("supervisor_backward", program=now.source.strip() or "(none)", feedback=now.error)
        await session.attempt("optimus_debug", prompt)
    return session.newest


async def _part(session: FormulationSession, variables: str, clause: str) -> str:
    latex = await _said(session, "optimus_clause", variables=variables, clause=clause)
    code = await _said(session, "optimus_code", variables=variables, clause=clause, latex=latex)
    return f"## {clause}\n{latex}\n{code}"


async def _said(session: FormulationSession, role: str, **values: str) -> str:
    try:
        return await session.say(role, session.prompt(role, **values))
    except ReplyError:
        return ""


def _listed(found: Any) -> list[str]:
    if isinstance(found, list):
        return [str(one) for one in found]
    return [str(found)] if found else []
