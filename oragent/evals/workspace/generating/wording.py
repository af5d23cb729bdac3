"""The texts of a set, instance by instance, rewritten by a model that is paid: recorded, budgeted, gone on with."""

from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from oragent._base.budget import Budget
from oragent._base.errors import WorkspaceError
from oragent.evals.workspace.generating.making import Made
from oragent.evals.workspace.generating.rewriting import rewrite, rewritten
from oragent.evals.workspace.label_sets import VAULT
from oragent.ledger.runtime import open_study
from oragent.ledger.study import Finished
from oragent.llm.model import Model
from oragent.llm.model_settings import ModelSettings
from oragent.llm.runtime_settings import RuntimeSettings
from oragent.workspace.reading import named
from oragent.workspace.runner import ProgramRunner

CONSTRUCTION = "construction"  # of a vault: what was asked to rewrite its texts


@dataclass(frozen=True)
class Writing:
    """Who rewrites the texts of a set.

    Attributes:
        name: Name of the model that is asked in all roles of the construction; empty for a replay.
        budget: What may be spent.
        replay: Set whose replies are given again; None for none.
        asked: Model in place of a server's.
    """

    name: str = ""
    budget: Budget = Budget(evaluations=None)  # noqa: RUF009  # a frozen value
    replay: Path | None = None
    asked: Model | None = None


async def reworded(
    made: Sequence[Made], out: Path, runner: ProgramRunner, note: Callable[[str], None], writing: Writing
) -> tuple[Made, ...]:
    """The instances with the texts of a writer, where they were accepted; what was asked is kept beside the set.

    Args:
        made: Instances of the set.
        out: Folder that the set will have.
        runner: Runner of programs.
        note: Told what became of each.
        writing: Who writes.

    Raises:
        WorkspaceError: if it was cut off.
    """
    known = {f"{one.number:03d}": one for one in made}

    def told(done: Finished) -> None:
        note(f"texts of instance {done.name}: {'rewritten' if done.result['accepted'] else done.result['why']}")

    async with AsyncExitStack() as stack:
        runtime = RuntimeSettings(ModelSettings(writing.name) if writing.name else None, budget=writing.budget)
        replay = None if writing.replay is None else writing.replay / VAULT / CONSTRUCTION
        opening = open_study(beside(out), runtime, model=writing.asked, replay=replay)
        study = await stack.enter_async_context(opening)
        found = await study.run(list(known), lambda case: rewrite(case, known[case.name], runner), told)
        if None in found:
            raise WorkspaceError(f"{study.reason}; what was answered is kept in {named(beside(out))}: "
                                 "the same command goes on")  # fmt: skip
    return tuple(
        rewritten(one, done.result) if done is not None and done.result["accepted"] else one
        for one, done in zip(made, found, strict=True)
    )


def beside(out: Path) -> Path:
    """Where the replies of a set lie that is not made yet."""
    return out.with_name(f"{out.name}.{CONSTRUCTION}")
