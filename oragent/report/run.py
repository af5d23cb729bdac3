"""The findings of a run, read from its folder without changing it, and its progress over evaluations."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

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
from oragent.report.pages.text import Gain, measure_gain
from oragent.report.pictured import Picture
from oragent.report.research import Research, read_research
from oragent.report.spend import Spend, sum_spending
from oragent.search.archive import Archive, ArchivePolicy, replay_archive
from oragent.search.candidate import Committed, Elite
from oragent.search.checks import way_on
from oragent.search.events import Audits
from oragent.search.folder import repeat_command
from oragent.search.store import Store


@dataclass(frozen=True)
class ProgressPoint:
    """A scored candidate in the course of a run.

    Attributes:
        at: Evaluations paid until then, its own included, equal programs once.
        score: Score of the candidate, in the problem's natural units.
        best: Best score until then, its own included.
    """

    at: float
    score: float
    best: float


def progress_by_evaluations(records: Sequence[Committed], direction: Direction) -> tuple[ProgressPoint, ...]:
    """Return the progress in the order of commitment; equal programs count once.

    Probes cost no evaluation and are left out.
    """
    scored: list[tuple[float, float]] = []
    evaluations, counted, shown = 0, set[str](), set[str]()
    for record in records:
        candidate, score = record.candidate, record.score
        if candidate.is_probe:
            continue
        evaluations += candidate.evaluation.was_started and candidate.fingerprint not in counted
        counted.add(candidate.fingerprint)
        if score is not None and candidate.fingerprint not in shown:
            scored.append((float(evaluations), score))
            shown.add(candidate.fingerprint)
    return _make_points(scored, direction)


def _make_points(scored: Iterable[tuple[float, float]], direction: Direction) -> tuple[ProgressPoint, ...]:
    points: list[ProgressPoint] = []
    for at, score in scored:
        points.append(ProgressPoint(at, score, direction.best((points[-1].best, score)) if points else score))
    return tuple(points)


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
        failures: Candidates, probes aside, that failed by how they ended, the most frequent first.
        descent: Line of first parents from the best candidate back to the oldest.
        spend: Resources that the run took.
        research: Notes of its research rounds; None where the strategy has none.
        end: Reason for its end; None where it was killed, or still runs.
        experiments: Number of runs for sweeps and probes on training instances, and their CPU seconds.
        audits: Audits of programs that would have led.
        audit: Audit of decisions of the best program; None if it was not made.
        sets: Scores on the held-out and fresh sets beside those on ``val``; None if they were not made.
        remarks: Messages that were shown to the user while it ran.
        spent: Spending against its budget.
        pictures: Pictures of what the best program does; none if they were not drawn.
        final: Final round of its best elites; None if it was not made.
    """

    folder: Path
    about: About
    records: tuple[Committed, ...]
    replies: tuple[RecordedReply, ...]
    islands: tuple[tuple[Committed, ...], ...]
    seed: Committed
    best: Committed
    by_evaluations: tuple[ProgressPoint, ...]
    failures: dict[Status, tuple[Committed, ...]]
    descent: tuple[Committed, ...]
    spend: Spend
    research: Research | None
    end: str | None
    experiments: tuple[int, float] = (0, 0.0)
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
    def resume_command(self) -> str:
        """The command that continues the run, also if its budget is used up."""
        again = repeat_command(self.about.problem_reference, self.about.settings)
        return way_on(self.folder, self.about.budget, self.spent, self.end or "", again)

    @property
    def gain(self) -> Gain:
        """Gain of the search on the seed."""
        return self.gain_of(self.best.candidate.evaluation.score)

    @property
    def all_elites(self) -> list[Elite]:
        """The elites of all islands, each once, best first."""
        elites_by_id = {record.id: Elite.of(record) for island in self.islands for record in island}
        return sorted(elites_by_id.values(), key=lambda elite: -self.about.direction.fitness(elite.score))

    def gain_of(self, score: float | None) -> Gain:
        """Return the gain of a score on the seed's."""
        base = self.seed.candidate.evaluation.score
        assert base is not None
        assert score is not None
        return measure_gain(self.about.direction, base, score)


def load_run(folder: Path) -> RunData:
    """Read a run.

    Raises:
        StoreError: if this is no run's folder, its database is corrupted, or nothing in it has a score yet.
        ConfigError: if its ``config.yaml`` is not the configuration of a run.
    """
    _expect_run(folder)
    described = about.read_about(folder / "config.yaml")
    path = folder / "run.db"
    try:
        with Store(path, readonly=True) as store:
            records, replies = tuple(store.binned()), tuple(store.replies.all_replies())
            seconds, end, rounds = store.elapsed_s(), store.meta("end"), store.rounds()
            notes, audits, remarks = store.notes(), store.audits(), tuple(store.remarks())
            resets, experiments = store.resets(), store.experiments()
    except (ValueError, TypeError, KeyError) as problem:
        raise StoreError(f"{path} is corrupted ({problem}); restore it from a copy or start a new run") from None
    archive = replay_run(described, records, len(rounds), resets)
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
        by_evaluations=progress_by_evaluations(records, described.direction),
        failures=_group_failures(records),
        descent=_trace_descent(best, by_id),
        spend=sum_spending(records, replies, seconds),
        research=read_research(notes),
        end=end,
        experiments=experiments,
        audits=audits,
        audit=audit.read_audit(folder),
        sets=read_sets(folder, described.direction, (_val_figures(seed), _val_figures(best))),
        remarks=remarks,
        pictures=pictured.read_pictures(folder),
        final=final.read_final(folder, described.direction),
        spent=replace(sum(rounds.values(), Spent()), seconds=seconds),
    )


def _val_figures(record: Committed) -> dict[str, Any]:
    return {**record.candidate.evaluation.metrics, "score": record.score}


def read_sets(folder: Path, direction: Direction, val: tuple[dict[str, Any], dict[str, Any]]) -> Sets | None:
    """Read the stored scores on the held-out and fresh sets; None if none belong to the present best program.

    Args:
        folder: Folder of the run.
        direction: Direction of the scores.
        val: Score and metrics of seed and best on ``val``.
    """
    test, drawn = held_out.read_held_out(folder), fresh.read_fresh(folder)
    return None if test is None and drawn is None else fresh.collect_sets(direction, val, test, drawn)


def _expect_run(folder: Path) -> None:
    missing = [name for name in ("config.yaml", "run.db") if not (folder / name).is_file()]
    if not missing:
        return
    runs = sorted(path.parent for path in folder.glob("*/run.db"))
    hint = f"; it holds {len(runs)} of them, the latest is {runs[-1]}" if runs else ""
    raise StoreError(f"{folder} is no run's folder: {' and '.join(missing)} expected in it{hint}")


def _group_failures(records: Sequence[Committed]) -> dict[Status, tuple[Committed, ...]]:
    groups: dict[Status, list[Committed]] = {}
    for record in records:
        if record.candidate.evaluation.status.failed and not record.candidate.is_probe:
            groups.setdefault(record.candidate.evaluation.status, []).append(record)
    return {status: tuple(group) for status, group in sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))}


def _trace_descent(best: Committed, by_id: dict[str, Committed]) -> tuple[Committed, ...]:
    ancestors = [best]
    seen = {best.id}
    while ancestors[-1].candidate.parents:
        parent = by_id.get(ancestors[-1].candidate.parents[0])
        if parent is None or parent.id in seen:
            break
        seen.add(parent.id)
        ancestors.append(parent)
    return tuple(ancestors)


def replay_run(about: About, records: Sequence[Committed], rounds: int, resets: Collection[int] = ()) -> Archive:
    """Build the archive again from committed candidates, with migrations and resets.

    Args:
        about: Configuration of the run.
        records: Every committed candidate, in order.
        rounds: Number of committed rounds.
        resets: Numbers of the rounds after which islands were reset by the clock.

    Raises:
        StoreError: if a candidate was placed without a score.
    """
    broken = next((record for record in records if record.placed and record.score is None), None)
    if broken:
        raise StoreError(f"candidate {broken.id} is in the archive without a score: the run's database is corrupted")
    tending = ArchivePolicy(
        direction=about.direction,
        islands=max([about.island_count, *(record.candidate.island + 1 for record in records)]),
        population=about.population,
        migration_period=about.migration_period,
        reset_period=about.reset_period,
        resets=frozenset(resets),
        everywhere=about.seeds_every_island,
        seed=about.seed,
    )
    return replay_archive(tending, records, rounds)
