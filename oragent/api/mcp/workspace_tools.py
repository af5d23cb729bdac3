"""Tools for models in folders: the verbs of a workspace on revisions of git."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field

from oragent._base.errors import ConfigError
from oragent._base.text_format import one_line
from oragent.api.mcp.registry import ToolEntry, describe_tool
from oragent.api.mcp.workplace import Workplace
from oragent.api.workspaces import Workspace
from oragent.workspace.adopting import Adoption
from oragent.workspace.model_results import VerbResult
from oragent.workspace.sources import MODELS, WORKING

MAX_LINES = 20
MAX_CHANGES = 50
# Maximum number of characters of a text with citations.
MAX_TEXT = 100_000
# Verbs and requests repeat the call.
OMITTED = {"verb", "request", "limits"}

Revision = Annotated[str, Field(description="Git revision or model file; . is now.")]
Seconds = Annotated[float | None, Field(gt=0, le=600, description="CPU seconds.")]


def workspace_tools(workplace: Workplace) -> Sequence[ToolEntry]:
    """Make the tools for workspaces."""

    async def perform(folder: str, seconds: float | None, verb: Callable[[Workspace], object]) -> object:
        workspace = Workspace(workplace.resolve(folder), seconds=seconds)
        return _dump(await workplace.work(lambda: verb(workspace)))

    @describe_tool("verb", reads=True)
    async def workspace_run(folder: str, at: Revision = WORKING, seconds: Seconds = None) -> object:
        """Run the program of a revision in the sandbox, and solve its model again."""
        revision = _find_revision(workplace, at)
        return await perform(folder, seconds, lambda workspace: workspace.run(revision))

    @describe_tool("lines", reads=True)
    async def workspace_ask(
        folder: str,
        lines: Annotated[list[str], Field(min_length=1, max_length=MAX_LINES)],
        at: Revision = WORKING,
        seconds: Seconds = None,
    ) -> object:
        """Run lines of operations on the model of a revision: solve, price ROW, conflict, repair, describe NAME."""
        revision = _find_revision(workplace, at)
        return await perform(folder, seconds, lambda workspace: {"results": workspace.ask(*lines, at=revision)})

    @describe_tool("verb", reads=True)
    async def workspace_whatif(
        folder: str,
        changes: Annotated[
            list[str],
            Field(
                min_length=1, max_length=MAX_CHANGES, description="data/d.csv[Paris, wk3]=120, or demand[Paris] *= 1.1"
            ),
        ],
        at: Revision = WORKING,
        seconds: Seconds = None,
    ) -> object:
        """Show the effect of other values in cells of data, or of changes of the model; nothing is written."""
        revision = _find_revision(workplace, at)
        return await perform(folder, seconds, lambda workspace: workspace.whatif(*changes, at=revision))

    @describe_tool("verb", reads=True)
    async def workspace_compare(folder: str, old: Revision, new: Revision = WORKING, seconds: Seconds = None) -> object:
        """Show what differs between two revisions (ok: nothing): rows, variables, data, effect on the optimum."""
        first, second = _find_revision(workplace, old), _find_revision(workplace, new)
        return await perform(folder, seconds, lambda workspace: workspace.compare(first, second))

    @describe_tool("verb", reads=True)
    async def workspace_verify(
        folder: str,
        old: Revision,
        new: Revision = WORKING,
        neutral: Annotated[list[str], Field(description="CELL=VALUE of new cells without effect.")] = [],  # noqa: B006
        seconds: Seconds = None,
    ) -> object:
        """Test that the new program has the former optimum at the former data; ok is false if not."""
        first, second = _find_revision(workplace, old), _find_revision(workplace, new)
        return await perform(folder, seconds, lambda workspace: workspace.verify(first, second, neutral))

    @describe_tool("verb", reads=True)
    async def workspace_audit(
        folder: str,
        old: Revision,
        new: Revision = WORKING,
        plan: Annotated[str, Field(description="File with planned edits, a line CELL = VALUE each.")] = "",
    ) -> object:
        """List each cell of data that differs between two revisions, and compare them with a plan."""
        first, second = _find_revision(workplace, old), _find_revision(workplace, new)
        planned = workplace.resolve(plan) if plan else None
        return await perform(folder, None, lambda workspace: workspace.audit(first, second, planned))

    @describe_tool("verb", reads=True)
    async def workspace_cite(
        folder: str,
        text: Annotated[str, Field(max_length=MAX_TEXT, description="Text with citations, or a file that has them.")],
        at: Revision = WORKING,
    ) -> object:
        """Look up each citation of a text: [data/t.csv, row KEY, column NAME = value] or [docs/a.md:12 "quote"]."""
        revision = _find_revision(workplace, at)
        cited: str | Path = text if "[" in text or "\n" in text else workplace.resolve(text)
        return await perform(folder, None, lambda workspace: workspace.cite(cited, revision))

    @describe_tool("text", reads=True)
    async def workspace_adopt(folder: str, seconds: Seconds = None) -> object:
        """Propose a workspace.yaml for a folder by running its programs; text, runs and needed variables."""
        return await perform(folder, seconds, lambda workspace: _describe_adoption(workspace.adopt()))

    return [
        workspace_run,
        workspace_ask,
        workspace_whatif,
        workspace_compare,
        workspace_verify,
        workspace_audit,
        workspace_cite,
        workspace_adopt,
    ]


def _describe_adoption(adoption: Adoption) -> dict[str, object]:
    trials = [
        {"entry": trial.entry, "status": trial.status, "objective": trial.objective, "reason": trial.reason}
        for trial in adoption.trials
    ]
    parts = {"trials": trials, "untried": adoption.untried, "variables": adoption.variables}
    return {"text": adoption.text, "ok": adoption.is_solved, **parts}


def _find_revision(workplace: Workplace, text: str) -> str:
    """Return a revision; a model file must lie within the server's folder.

    Raises:
        ConfigError: It is a file elsewhere.
    """
    if text == WORKING:
        return text
    path = Path(text)
    if path.is_absolute() or ".." in path.parts:
        return str(workplace.resolve(text))
    if (workplace.root / path).is_file():
        return str(workplace.resolve(text))
    # Without this, the path would be relative to the folder in which the server was started.
    if path.is_file() or (path.suffix in MODELS and ":" not in text):
        raise ConfigError(f"{one_line(text, 80)} does not exist in the server's folder")
    return text


def _dump(result: object) -> object:
    if isinstance(result, BaseModel):
        tree = result.model_dump(mode="json", exclude_defaults=True)
        if isinstance(result, VerbResult):
            tree["ok"] = result.ok
        return _dump(tree)
    if isinstance(result, dict):
        return {name: _dump(value) for name, value in result.items() if name not in OMITTED}
    if isinstance(result, list | tuple):
        return [_dump(value) for value in result]
    return result
