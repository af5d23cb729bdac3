"""A run as reports see it: everything is read from its folder, and nothing in it is changed."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from oragent._base.budget import Spent
from oragent._base.direction import Direction
from oragent._base.errors import StoreError
from oragent._base.protocol import Status
from oragent.ledger import RecordedReply
from oragent.report import about, audit, final, fresh, held_out, pictured
from oragent.report.about import About
from oragent.report.audit import BestAudit
from oragent.report.final import Final
from oragent.report.fresh import Sets
from oragent.report.pages.format import Gain, gain
from oragent.report.pictured import Picture
from oragent.report.progress import ProgressPoint, over_evaluations, over_seconds
from oragent.report.replay import replayed
from oragent.report.research import Research, research
from oragent.report.spend import Spend, spend
from oragent.search.auditing import Audits
from oragent.search.bounds import way_on
from oragent.search.candidate import Committed, Elite
from oragent.search.folder import repeat_command
from oragent.search.store import Store


@dataclass(frozen=True)
class RunData:
    """A run's findings.

    Attributes:
        folder: Folder of the run.
        about: Configuration of the run.
        records: Every committed candidate, in order, probes among them.
        replies: Every model's reply, in order.
        islands: Elites of each island at the end, best first.
        seed: Seed heuristic.
        best: Best candidate.
        by_evaluations: Scored candidates on the way to the best, over evaluations.
        by_seconds: The same, over the run's own time.
        failures: Candidates, probes aside, that failed by how they ended, the most frequent first.
        descent: Line of first parents from the best candidate back to the oldest.
        spend: Resources that the run took.
        research: Notes of its research rounds; None where the strategy has none.
        end: Reason for its end; None where it was killed, or still runs.
        audits: Audits of programs that would have led.
        audit: Audit of decisions of the best program; None where nobody asked for it.
        sets: Scores on the held-out and fresh sets beside those on ``val``; None where nobody asked for them.
        remarks: Lines that a person was told while it ran.
        spent: Spending against its budget.
        pictures: Pictures of what the best program does; none where nobody asked for them.
        final: Final round of its best elites; None where nobody asked for it.
    """

    folder: Path
    about: About
    records: tuple[Committed, ...]
    replies: tuple[RecordedReply, ...]
    islands: tuple[tuple[Committed, ...], ...]
    seed: Committed
    best: Committed
    by_evaluations: tuple[ProgressPoint, ...]
    by_seconds: tuple[ProgressPoint, ...]
    failures: dict[Status, tuple[Committed, ...]]
    descent: tuple[Committed, ...]
    spend: Spend
    research: Research | None
    end: str | None
    audits: Audits = field(default_factory=Audits)
    audit: BestAudit | None = None
    sets: Sets | None = None
    remarks: tuple[str, ...] = ()
    spent: Spent = field(default_factory=Spent)
    pictures: tuple[Picture, ...] = ()
    final: Final | None = None

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.folder.resolve().name

    @property
    def resume(self) -> str:
        """The command that goes on from where the run is, also where its budget is used up."""
        again = repeat_command(self.about.place, self.about.settings)
        return way_on(self.folder, self.about.budget, self.spent, self.end or "", again)

    @property
    def gain(self) -> Gain:
        """Gain of the search on the seed."""
        return self.gain_of(self.best.candidate.evaluation.score)

    @property
    def elites(self) -> list[Elite]:
        """The elites of all islands, each once, best first."""
        found = {record.id: Elite.of(record) for island in self.islands for record in island}
        return sorted(found.values(), key=lambda elite: -self.about.direction.fitness(elite.score))

    def gain_of(self, score: float | None) -> Gain:
        """How a score compares with the seed's."""
        base = self.seed.candidate.evaluation.score
        assert base is not None
        assert score is not None
        return gain(self.about.direction, base, score)


def load(folder: Path) -> RunData:
    """Read a run.

    Raises:
        StoreError: if this is no run's folder, its database is corrupted, or nothing in it has a score yet.
        ConfigError: if its ``config.yaml`` is not what a run leaves.
    """
    _expect_run(folder)
    described = about.read(folder / "config.yaml")
    path = folder / "run.db"
    try:
        with Store(path, readonly=True) as store:
            records, replies = tuple(store.binned()), tuple(store.replies.all())
            seconds, end, rounds = store.elapsed_s(), store.meta("end"), store.rounds()
            notes, audits, remarks = store.notes(), store.audits(), tuple(store.remarks())
            resets = store.resets()
    except (ValueError, TypeError, KeyError) as problem:
        raise StoreError(f"{path} is corrupted ({problem}); restore it from a copy or start a new run") from None
    archive = replayed(described, records, len(rounds), resets)
    if archive.best is None:
        raise StoreError(f"no candidate in {folder} has a score yet: let it run on, or 'oragent resume' it")
    by_id = {record.id: record for record in records}
    best = by_id[archive.best.id]
    seed = next(record for record in records if record.placed)
    return RunData(
        folder=folder,
        about=described,
        records=records,
        replies=replies,
        islands=tuple(tuple(by_id[elite.id] for elite in archive.ranked(island)) for island in range(archive.islands)),
        seed=seed,
        best=best,
        by_evaluations=over_evaluations(records, described.direction),
        by_seconds=over_seconds(records, described.direction),
        failures=_failures(records),
        descent=_descent(best, by_id),
        spend=spend(records, replies, seconds),
        research=research(notes),
        end=end,
        audits=audits,
        audit=audit.read(folder),
        sets=_sets(folder, described.direction, seed, best),
        remarks=remarks,
        pictures=pictured.read(folder),
        final=final.read(folder, described.direction),
        spent=replace(sum(rounds.values(), Spent()), seconds=seconds),
    )


def _sets(folder: Path, direction: Direction, seed: Committed, best: Committed) -> Sets | None:
    """What is kept of sets beside ``val``, as long as it is about the best program of today."""
    test, drawn = held_out.read(folder), fresh.read(folder)
    if test is None and drawn is None:
        return None
    val = [{**one.candidate.evaluation.metrics, "score": one.score} for one in (seed, best)]
    return fresh.sets(direction, (val[0], val[1]), test, drawn)


def _expect_run(folder: Path) -> None:
    missing = [name for name in ("config.yaml", "run.db") if not (folder / name).is_file()]
    if not missing:
        return
    runs = sorted(path.parent for path in folder.glob("*/run.db"))
    hint = f"; it holds {len(runs)} of them, the latest is {runs[-1]}" if runs else ""
    raise StoreError(f"{folder} is no run's folder: {' and '.join(missing)} expected in it{hint}")


def _failures(records: Sequence[Committed]) -> dict[Status, tuple[Committed, ...]]:
    groups: dict[Status, list[Committed]] = {}
    for record in records:
        if record.candidate.evaluation.status.failed and not record.candidate.is_probe:
            groups.setdefault(record.candidate.evaluation.status, []).append(record)
    return {status: tuple(group) for status, group in sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))}


def _descent(best: Committed, by_id: dict[str, Committed]) -> tuple[Committed, ...]:
    line = [best]
    seen = {best.id}
    while line[-1].candidate.parents:
        parent = by_id.get(line[-1].candidate.parents[0])
        if parent is None or parent.id in seen:
            break
        seen.add(parent.id)
        line.append(parent)
    return tuple(line)
