"""Python access to a run: the content of its folder as values and as a table."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oragent import report as reports
from oragent._base.budget import Budget, Spent
from oragent._base.distribution import package_install_command
from oragent._base.errors import ConfigError
from oragent._base.settings import build_settings
from oragent.ledger import RecordedReply
from oragent.ledger.replies import list_possible_keys
from oragent.report.held_out import score_held_out
from oragent.report.run import RunData, load_run
from oragent.search.candidate import Committed
from oragent.search.store import COMPLETE, Store

COLUMNS = (
    "id",
    "round",
    "number",
    "island",
    "origin",
    "parents",
    "status",
    "score",
    "gain",
    "placed",
    "elapsed_s",
    "wall_s",
    "cpu_s",
    "queued_s",
    "peak_mb",
    "model",
    "tokens_in",
    "tokens_out",
    "money",
    "message",
    "fingerprint",
    "source",
)


def make_rows(data: RunData) -> tuple[list[str], list[dict[str, Any]]]:
    """Return the names of the columns, including one per feature, and a row for each candidate, in order."""
    features = [f"feature_{axis.name}" for axis in data.about.axes]
    replies = {reply.key: reply for reply in data.replies}
    at = COLUMNS.index("placed")
    return [*COLUMNS[:at], *features, *COLUMNS[at:]], [
        _make_row(record, data, features, replies) for record in data.records
    ]


def _make_row(
    record: Committed, data: RunData, features: Sequence[str], replies: Mapping[str, RecordedReply]
) -> dict[str, Any]:
    candidate, evaluation = record.candidate, record.candidate.evaluation
    number = int(record.id.partition(".")[2])
    keys = [] if candidate.call is None else list_possible_keys(record.round, candidate.branch, candidate.call)
    reply = next((replies[key] for key in keys if key in replies), None)
    scored = evaluation.score is not None
    return {
        "id": record.id,
        "round": record.round,
        "number": number,
        **{name: getattr(candidate, name) for name in ("island", "origin", "parents")},
        "status": str(evaluation.status),
        "score": evaluation.score if scored else math.nan,
        "gain": data.gain_of(evaluation.score).amount if scored else math.nan,
        **dict(zip(features, evaluation.features or [None] * len(features), strict=False)),
        "placed": record.placed,
        "elapsed_s": record.elapsed_s,
        **{name: getattr(evaluation, name) for name in ("wall_s", "cpu_s", "queued_s", "peak_mb")},
        "model": reply.model if reply else None,
        "tokens_in": reply.tokens_in if reply else 0,
        "tokens_out": reply.tokens_out if reply else 0,
        "money": reply.money if reply and reply.money is not None else math.nan,
        "message": evaluation.message,
        **{name: getattr(candidate, name) for name in ("fingerprint", "source")},
    }


if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, repr=False)
class SearchRun:
    """A stored run, in its state when it was loaded.

    Attributes:
        folder: Run folder.
        spent: Spent budget.
        complete: True if the run spent its budget; False if it was stopped, failed or found no new programs.
    """

    folder: Path
    spent: Spent
    complete: bool
    _data: RunData = field(compare=False)

    @property
    def best(self) -> Committed:
        """The best candidate: ``source``, ``score``, ``id``, ``round``, ``candidate.evaluation``."""
        return self._data.best

    @property
    def seed(self) -> Committed:
        """The seed heuristic, in the same form."""
        return self._data.seed

    @property
    def candidates(self) -> tuple[Committed, ...]:
        """All candidates and probes in the order of commitment; failed ones have no score."""
        return self._data.records

    @property
    def elites(self) -> tuple[tuple[Committed, ...], ...]:
        """The elites of each island at the end, best first."""
        return self._data.islands

    @property
    def reason(self) -> str:
        """Reason why the run ended, in one line; empty if it was killed or is still running."""
        return self._data.end or ""

    def replies(self) -> tuple[RecordedReply, ...]:
        """Return the replies in order: ``role``, ``prompt``, ``text``, ``model``, tokens, ``money``, ``seconds``."""
        return self._data.replies

    def to_frame(self) -> "pandas.DataFrame":
        """Return all candidates as a table, one row each; ``docs/python.md`` lists the columns.

        Raises:
            ConfigError: pandas is not installed.
        """
        try:
            # pandas loads slowly and is optional.
            import pandas
        except ImportError:
            raise ConfigError(
                f"to_frame needs pandas, which is not installed: {package_install_command('pandas')}"
            ) from None
        columns, table = make_rows(self._data)
        return pandas.DataFrame(table, columns=columns)

    def report(self) -> Path:
        """Write ``report.html`` into the folder.

        Returns:
            The page.

        Raises:
            StoreError: The report cannot be written.
        """
        page: Path = reports.write(self.folder)
        return page

    def test(self) -> dict[str, Any]:
        """Score seed and best on the held-out test set, and store the result as ``test.yaml``.

        Returns:
            For ``seed`` and ``best``: metrics and score; for ``paired``: their paired test over instances, or None.

        Raises:
            ProblemError: The problem changed, or has no test mode.
        """
        return score_held_out(self.folder)

    def __repr__(self) -> str:
        about, best = self._data.about, self.best.score
        end = self.reason or "not ended"
        return f"<SearchRun {about.problem}/{self._data.name}: best {best:.6g}, {self._data.gain.sentence}; {end}>"


def load(path: str | Path) -> SearchRun:
    """Read a run without changing its folder.

    Args:
        path: Run folder.

    Raises:
        StoreError: The folder is not a run, its database is corrupt, or no candidate has a score yet.
        ConfigError: ``config.yaml`` is not the configuration of a run.
    """
    folder = Path(path)
    data = load_run(folder)
    with Store(folder / "run.db", readonly=True) as store:
        has_finished = store.meta(COMPLETE) == str(True)
    budget = build_settings(Budget, dict(data.about.settings.get("budget") or {}), [], str(folder / "config.yaml"))
    is_complete = has_finished or budget.name_reached_bound(data.spent) is not None
    return SearchRun(folder, data.spent, is_complete, data)
