"""A run from Python: the content of its folder as values and as a table."""

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
from oragent.search.store import Store

COLUMNS = (
    "id", "round", "number", "island", "origin", "parents", "status", "score", "gain", "placed", "elapsed_s", "wall_s",
    "cpu_s", "queued_s", "peak_mb", "model", "tokens_in", "tokens_out", "money", "message", "fingerprint", "source",
)  # fmt: skip


def make_rows(data: RunData) -> tuple[list[str], list[dict[str, Any]]]:
    """Return the names of the columns, one for each feature included, and a row for each candidate, in order."""
    features = [f"feature_{axis.name}" for axis in data.about.axes]
    replies = {reply.key: reply for reply in data.replies}
    at = COLUMNS.index("placed")
    return [*COLUMNS[:at], *features, *COLUMNS[at:]], [
        _make_row(record, data, features, replies) for record in data.records
    ]


def _make_row(
    record: Committed,
    data: RunData,
    features: Sequence[str],
    replies: Mapping[str, RecordedReply],
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
        "island": candidate.island,
        "origin": candidate.origin,
        "parents": candidate.parents,
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
        "fingerprint": candidate.fingerprint,
        "source": candidate.source,
    }


if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, repr=False)
class SearchRun:
    """A run as its folder was when it was loaded.

    Attributes:
        folder: where it lives.
        spent: of its budget.
        complete: whether the budget was used up, as opposed to a stop, a dead model or nothing new to try.
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
        """The seed heuristic, likewise."""
        return self._data.seed

    @property
    def candidates(self) -> tuple[Committed, ...]:
        """All that was tried, in the order of its commitment; also what failed, which has no score, and probes."""
        return self._data.records

    @property
    def elites(self) -> tuple[tuple[Committed, ...], ...]:
        """The archive at the end: of each island its elites, best first."""
        return self._data.islands

    @property
    def reason(self) -> str:
        """Why it ended, one line; empty where it was killed, or still runs."""
        return self._data.end or ""

    def replies(self) -> tuple[RecordedReply, ...]:
        """Return the replies in order: ``role``, ``prompt``, ``text``, ``model``, tokens, ``money``, ``seconds``."""
        return self._data.replies

    def to_frame(self) -> "pandas.DataFrame":
        """All candidates as a table, a row each; ``docs/python.md`` says what its columns are.

        Raises:
            ConfigError: if pandas is not installed.
        """
        try:
            import pandas  # heavy, and many do without it
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
            StoreError: if it cannot be written.
        """
        page: Path = reports.write(self.folder)
        return page

    def test(self) -> dict[str, Any]:
        """Score seed and best on the held-out test set, which no search reads, and keep that as ``test.yaml``.

        Returns:
            For ``seed`` and ``best``: their metrics, and the score; for ``paired``: the test of one against the other,
            instance by instance, or None.

        Raises:
            ProblemError: if the problem changed since, or has no test mode.
        """
        return score_held_out(self.folder)

    def __repr__(self) -> str:
        about, best = self._data.about, self.best.score
        end = self.reason or "not ended"
        return f"<SearchRun {about.problem}/{self._data.name}: best {best:.6g}, {self._data.gain.sentence}; {end}>"


def load(path: str | Path) -> SearchRun:
    """Read a run; nothing in its folder is changed.

    Args:
        path: the run's folder.

    Raises:
        StoreError: if this is no run's folder, its database is corrupted, or nothing in it has a score yet.
        ConfigError: if its ``config.yaml`` is not the configuration of a run.
    """
    folder = Path(path)
    data = load_run(folder)
    with Store(folder / "run.db", readonly=True) as store:
        spent = sum(store.rounds().values(), Spent())
        spent = Spent(spent.evaluations, spent.model_calls, spent.tokens, spent.money, store.elapsed_s())
    budget = build_settings(Budget, dict(data.about.settings.get("budget") or {}), [], str(folder / "config.yaml"))
    return SearchRun(folder, spent, budget.name_reached_bound(spent) is not None, data)
