"""Open what a piece of work asks and records: models, budget, replies, in one folder."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from oragent.ledger.replaying import Replaying
from oragent.ledger.study import Study
from oragent.llm.factory import open_models
from oragent.llm.model import Model, Reply
from oragent.llm.runtime_settings import RuntimeSettings


@asynccontextmanager
async def open_study(
    folder: Path | Callable[[], Path],
    runtime: RuntimeSettings,
    *,
    model: Model | None = None,
    replay: Path | None = None,
    is_asking: bool = True,
    seed: int = 0,
    workers: int = 1,
) -> AsyncIterator[Study]:
    """Open models and the study that records their replies and holds them to the budget.

    Args:
        folder: Folder of the study; or a function that makes it, called once the models have answered, so that a
            missing key leaves no folder.
        runtime: Settings of models and budget.
        model: Model in place of those of the settings.
        replay: Folder whose replies are given again; None for none.
        is_asking: Whether the models of the settings are opened; otherwise replies are replayed, if there are any.
        seed: Seed of the cases' generators.
        workers: Number of cases at once.

    Raises:
        ModelError: A model has no key, cannot be reached, or refuses.
    """
    async with AsyncExitStack() as stack:
        by_role: Mapping[str, Model] = {} if model is None else {"": model}
        checks: Sequence[Reply] = ()
        if model is None and is_asking and runtime.model is not None:
            made = await stack.enter_async_context(open_models(runtime))
            by_role, checks = {"": made}, made.checks
        home = folder if isinstance(folder, Path) else folder()
        study = stack.enter_context(Study(home, by_role, runtime.budget, seed, workers))
        study.book(checks)
        if replay is not None:
            study.replies.take_over(replay / "run.db")
            if not by_role:
                study.models = {"": Replaying(study.replies)}
        yield study
