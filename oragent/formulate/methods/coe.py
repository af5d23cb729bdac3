"""Chain-of-Experts (Xiao et al., ICLR 2024): a conductor picks experts, a reducer writes the program, errors go back.

An error goes backwards through the experts that were asked, until one finds itself the cause; then the program is
written again. Differs from the source: no knowledge base is searched, and no sample test is made up by a model.
"""

import re

from oragent.formulate.attempts import FormulationAttempt
from oragent.formulate.session import FormulationSession

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
        name = await _next(session, comments)
        prompt = session.prompt("coe_expert", expert=name, what=EXPERTS[name], comments=_told(comments))
        comments.append((name, await session.say("coe_expert", prompt)))
    for trial in range(TRIALS):
        told = session.prompt("coe_comments", comments=_told(comments))
        now = await session.attempt("coe_reducer", f"{session.prompt('standard')}\n\n{told}")
        if not now.failed or trial == TRIALS - 1:
            break
        await _backwards(session, comments, now.error)
    return session.newest


async def _next(session: FormulationSession, comments: list[tuple[str, str]]) -> str:
    asked = {name for name, _ in comments}
    left = [name for name in EXPERTS if name not in asked]
    team = "\n".join(f"- {name}: {EXPERTS[name]}" for name in left)
    prompt = session.prompt("coe_conductor", team=team, comments=_told(comments), most=ASKED - len(comments))
    reply = await session.say("coe_conductor", prompt)
    return next((word for word in re.findall(r"[a-z_]+", reply.lower()) if word in left), left[0])


async def _backwards(session: FormulationSession, comments: list[tuple[str, str]], feedback: str) -> None:
    for place in reversed(range(len(comments))):
        name, comment = comments[place]
        prompt = session.prompt("coe_backward", expert=name, comment=comment, feedback=feedback)
        found = await session.data_of("coe_backward", prompt, dict)
        if found is not None and found.get("refined"):
            comments[place] = (name, str(found["refined"]))
        if found is not None and found.get("caused_by_me") is True:
            return


def _told(comments: list[tuple[str, str]]) -> str:
    return "\n\n".join(f"## {name}\n{comment}" for name, comment in comments) or "(nothing)"
