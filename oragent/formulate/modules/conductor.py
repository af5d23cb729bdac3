"""The options conductor, an option that was found harmful: a model chooses the order of the modules."""

import re
from collections.abc import Mapping

from oragent.formulate.session import FormulationSession


async def conduct(session: FormulationSession, team: Mapping[str, str], asked: list[str], most: int) -> str:
    """Choose who is asked next; a name that nobody who is left has means the first of them.

    Args:
        session: The work.
        team: What each module does, by name.
        asked: Names of those that were asked.
        most: How many more may be asked.
    """
    left = [name for name in team if name not in asked]
    told = "\n".join(f"- {name}: {what}" for name, what in team.items())
    prompt = session.prompt(
        "conductor", team=told, asked=", ".join(asked) or "nobody", left=", ".join(left), most=most
    )  # fmt: skip
    reply = await session.say("conductor", prompt)
    return next((word for word in re.findall(r"[a-z_]+", reply.lower()) if word in left), left[0])
