"""The reasoner on results: a checker, written from the problem and the names of the values alone (system 2)."""

from oragent.errors import ReplyError
from oragent.formulate.checks import State
from oragent.formulate.data import kinds
from oragent.formulate.session import Session

__all__ = ["write_checker"]


async def write_checker(session: Session) -> None:
    """Have a checker written, once for all attempts, and put the newest attempt to it.

    It is told the problem, the names and types of the returned values, and never the program. One that does not run
    goes back once; after that the answer counts as unchecked.
    """
    values = "\n".join(f"- {name or 'values'}: {kind}" for name, kind in kinds(_numbers(session.newest.ran.values)))
    parameters = ", ".join(session.data) or "none"
    try:
        prompt = session.prompt("counterfactual", values=values, parameters=parameters)
        session.checker = await session.code("counterfactual", prompt, "checks")
        checked = (await session.check()).checked
        if checked is not None and checked.state is State.UNCHECKED and checked.note.startswith("the checker does not"):
            told = session.prompt("counterfactual_again", values=values, checker=session.checker, error=checked.note)
            session.checker = await session.code("counterfactual", told, "checks")
            await session.check()
    except ReplyError as problem:
        session.note("checks", f"There is no checker: {problem}.")
        await session.check()


def _numbers(values: object) -> object:
    """The values, those that are missing (of a program without an optimum) as numbers."""
    if isinstance(values, dict):
        return {key: _numbers(item) for key, item in values.items()}
    if isinstance(values, list):
        return [_numbers(item) for item in values]
    return 0.0 if values is None or isinstance(values, int | float) else values
