"""The reasoner on results: a checker, written from the problem and the names of the values alone (system 2)."""

from oragent._base.errors import ReplyError
from oragent._base.plain import plain
from oragent.formulate.checks import CheckStatus, Reason
from oragent.formulate.data import kinds
from oragent.formulate.session import FormulationSession

MOST_CITED = 800  # characters


async def write_checker(session: FormulationSession) -> None:
    """Have a checker written, once for all attempts, and put the newest attempt to it.

    It is told the problem, the names and types of the returned values, and never the program. One that does not run
    goes back once; after that the answer counts as unchecked.
    """
    values = _named(session)
    parameters = ", ".join(session.data) or "none"
    try:
        prompt = session.prompt("counterfactual", values=values, parameters=parameters)
        session.checker = await session.code("counterfactual", prompt, "checks")
        checked = (await session.check()).checked
        if (
            checked is not None
            and checked.state is CheckStatus.UNCHECKED
            and checked.note.startswith("the checker does not")
        ):
            told = session.prompt("counterfactual_again", values=values, checker=session.checker, error=checked.note)
            session.checker = await session.code("counterfactual", told, "checks")
            await session.check()
    except ReplyError as problem:
        session.note("checks", f"There is no checker: {problem}.")
        await session.check()


async def reconsider(session: FormulationSession) -> None:
    """Ask for the checker again where the supervisor insists on a row; of its program only the comments are told."""
    checked = session.newest.checked
    assert checked is not None
    comments = [line.strip() for line in session.newest.source.splitlines() if line.strip().startswith("#")]
    told = session.prompt(
        "counterfactual_dispute",
        values=_named(session),
        checker=session.checker,
        forbidden=", ".join(one.name for one in checked.findings if one.reason is Reason.FORBIDS) or "that point",
        cited="\n".join(comments)[:MOST_CITED] or "nothing",
    )
    try:
        session.checker = await session.code("counterfactual", told, "checks")
    except ReplyError:
        return
    await session.check()


def _named(session: FormulationSession) -> str:
    """How each value is got at, and its type, one a line."""
    values = _numbers(session.newest.ran.values)
    parts = values.items() if isinstance(values, dict) else ()
    found = [line for key, item in parts for line in kinds(item, f"values[{plain(str(key))!r}]")]
    return "\n".join(f"- {name}: {kind}" for name, kind in found or kinds(values, "values"))


def _numbers(values: object) -> object:
    """The values, those that are missing (of a program without an optimum) as numbers."""
    if isinstance(values, dict):
        return {key: _numbers(item) for key, item in values.items()}
    if isinstance(values, list):
        return [_numbers(item) for item in values]
    return 0.0 if values is None or isinstance(values, int | float) else values
