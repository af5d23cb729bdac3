"""Open models, budget and replies of a piece of work in one folder."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from oragent.ledger.replies import ReplayModel
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
    """Open models, and the study that records their replies and enforces the budget.

    Args:
        folder: Folder of the study; or a function that makes it, called after the models have answered, so that a
            missing key leaves no folder.
        runtime: Settings of models and budget.
        model: Model to use instead of those of the settings.
        replay: Folder whose replies are replayed; None for none.
        is_asking: Whether to open the models of the settings; otherwise only replies are replayed.
        seed: Seed of the cases' generators.
        workers: Number of concurrent cases.

    Raises:
        ModelError: A model has no key, cannot be reached, or refuses.
    """
    async with AsyncExitStack() as stack:
        by_role: Mapping[str, Model] = {} if model is None else {"": model}
        checks: Sequence[Reply] = ()
        if model is None and is_asking and runtime.model is not None:
            models = await stack.enter_async_context(open_models(runtime))
            by_role, checks = {"": models}, models.checks
        home = folder if isinstance(folder, Path) else folder()
        study = stack.enter_context(Study(home, by_role, runtime.budget, seed, workers))
        study.record_checks(checks)
        if replay is not None:
            study.replies.copy_from(replay / "run.db")
            if not by_role:
                study.models = {"": ReplayModel(study.replies)}
        yield study
