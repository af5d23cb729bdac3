"""The findings of a run, read from its folder without changing it: progress over evaluations, and cost."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Any

from oragent._base.budget import Spent
from oragent._base.direction import Direction
from oragent._base.errors import StoreError
from oragent._base.protocol import Status
from oragent.evaluation.hardening import HardenedProgram
from oragent.ledger import RecordedReply
from oragent.report import about, final, fresh, hardened, held_out, pictured
from oragent.report.about import About
from oragent.report.final import Final
from oragent.report.fresh import Sets
from oragent.report.held_out import BestCheck
from oragent.report.pages.text import Gain, measure_gain
from oragent.report.pictured import Picture
from oragent.report.research import Research, read_research
from oragent.search.archive import Archive, ArchivePolicy, replay_archive
from oragent.search.candidate import Committed, Elite
from oragent.search.checks import way_on
from oragent.search.events import PurityChecks
from oragent.search.folder import repeat_command
from oragent.search.store import Store


@dataclass(frozen=True)
class CallTotals:
    """Sums over model calls."""

    number: int
    tokens_in: int
    tokens_out: int
    # US dollars, over the replies whose price is known
    cost: float
    # number of replies whose price is not known
    unpriced: int
    # seconds spent waiting, summed over calls that may have run side by side
    seconds: float
    # number of attempts that failed before a reply came
    retries: int

    @property
    def tokens(self) -> int:
        """Tokens of prompts and replies together."""
        return self.tokens_in + self.tokens_out


@dataclass(frozen=True)
class Spend:
    """Cost of a run."""

    # number of programs that were tried, equal ones and rejected ones included, probes not
    candidates: int
    # number of programs that were run for their output alone
    probes: int
    # number of those that were ended before a full score, as they did badly until then
    screened: int
    # number of programs that were run, probes too; equal ones count once
    evaluations: int
    # seconds of the run's own time, over all sittings
    seconds: float
    # CPU seconds of all evaluations
    cpu_s: float
    # median time of an evaluation by the clock, seconds; None without one
    wall_median_s: float | None
    calls: CallTotals
    # calls of each model, by its name
    by_model: dict[str, CallTotals]
    by_role: dict[str, CallTotals]

    @property
    def per_hour(self) -> float | None:
        """Evaluations an hour; None before any time has passed."""
        if self.seconds > 0:
            return self.evaluations / self.seconds * 3600
        return None


def sum_spending(records: Sequence[Committed], replies: Sequence[RecordedReply], seconds: float) -> Spend:
    """Sum up a run."""
    distinct = {record.candidate.fingerprint: record.candidate.evaluation for record in records}
    ran = [evaluation for evaluation in distinct.values() if evaluation.was_started]
    solutions = [record.candidate for record in records if not record.candidate.is_probe]
    paid = {candidate.fingerprint for candidate in solutions if candidate.evaluation.was_started}
    return Spend(
        candidates=len(solutions),
        probes=len(records) - len(solutions),
        screened=sum(candidate.evaluation.status is Status.SCREENED for candidate in solutions),
        evaluations=len(paid),
        seconds=seconds,
        cpu_s=sum(evaluation.cpu_s for evaluation in ran),
        wall_median_s=median(evaluation.wall_s for evaluation in ran) if ran else None,
        calls=_sum_calls(replies),
        by_model=_group_calls(replies, lambda reply: reply.model),
        by_role=_group_calls(replies, lambda reply: reply.role),
    )


def _group_calls(replies: Sequence[RecordedReply], key: Callable[[RecordedReply], str]) -> dict[str, CallTotals]:
    groups: dict[str, list[RecordedReply]] = {}
    for reply in replies:
        groups.setdefault(key(reply), []).append(reply)
    ranked = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    return {name: _sum_calls(group) for name, group in ranked}


def _sum_calls(replies: Iterable[RecordedReply]) -> CallTotals:
    every = list(replies)
    return CallTotals(
        number=len(every),
        tokens_in=sum(reply.tokens_in for reply in every),
        tokens_out=sum(reply.tokens_out for reply in every),
        cost=sum(reply.money or 0.0 for reply in every),
        unpriced=sum(reply.money is None for reply in every),
        seconds=sum(reply.seconds for reply in every),
        retries=sum(reply.retries for reply in every),
    )


@dataclass(frozen=True)
class ProgressPoint:
    """A scored candidate in the course of a run."""

    # evaluations paid until then, its own included, equal programs once
    at: float
    score: float
    # best score until then, its own included
    best: float


def progress_by_evaluations(records: Sequence[Committed], direction: Direction) -> tuple[ProgressPoint, ...]:
    """Return the progress in the order of commitment; equal programs count once.

    Probes cost no evaluation and are left out.
    """
    points: list[ProgressPoint] = []
    evaluations, counted, shown = 0, set[str](), set[str]()
    for record in records:
        candidate, score = record.candidate, record.score
        if candidate.is_probe:
            continue
        evaluations += candidate.evaluation.was_started and candidate.fingerprint not in counted
        counted.add(candidate.fingerprint)
        if score is not None and candidate.fingerprint not in shown:
            if points:
                best = direction.best((points[-1].best, score))
            else:
                best = score
            points.append(ProgressPoint(float(evaluations), score, best))
            shown.add(candidate.fingerprint)
    return tuple(points)


@dataclass(frozen=True)
class RunData:
    """A run's findings."""

    folder: Path
    about: About
    # every committed candidate, in order, probes among them
    records: tuple[Committed, ...]
    # every model's reply, in order
    replies: tuple[RecordedReply, ...]
    # elites of each island at the end, best first
    islands: tuple[tuple[Committed, ...], ...]
    seed: Committed
    best: Committed
    # scored candidates on the way to the best, over evaluations
    by_evaluations: tuple[ProgressPoint, ...]
    # candidates that failed, without probes, the most frequent way first
    failures: dict[Status, tuple[Committed, ...]]
    # line of first parents from the best candidate back to the oldest
    descent: tuple[Committed, ...]
    spend: Spend
    # notes of its research rounds; None if the strategy has no such rounds
    research: Research | None
    # reason for its end; None if it was killed, or still runs
    end: str | None
    # runs for sweeps and probes on training instances, and their CPU seconds
    experiments: tuple[int, float] = (0, 0.0)
    # checks of programs that would have led
    checks: PurityChecks = field(default_factory=PurityChecks)
    # check of the best program; None if it was not made
    check: BestCheck | None = None
    # test of the best program with unusual arguments; None if it was not made
    hardened: HardenedProgram | None = None
    # scores on ``val``, the held-out and the fresh set; None if not made
    sets: Sets | None = None
    # messages that were shown to the user while it ran
    remarks: tuple[str, ...] = ()
    # spending against its budget
    spent: Spent = field(default_factory=Spent)
    # pictures of solutions of the best program; empty if not drawn
    pictures: tuple[Picture, ...] = ()
    # final round of its best elites; None if it was not made
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
        StoreError: if this is not a run's folder, its database is corrupted, or no candidate in it has a score yet.
        ConfigError: if its ``config.yaml`` is not the configuration of a run.
    """
    _expect_run(folder)
    described = about.read_about(folder / "config.yaml")
    path = folder / "run.db"
    try:
        with Store(path, readonly=True) as store:
            records, replies = tuple(store.binned()), tuple(store.replies.all_replies())
            seconds, end, rounds = store.elapsed_s(), store.meta("end"), store.rounds()
            notes, checks, remarks = store.notes(), store.purity_checks(), tuple(store.remarks())
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
        checks=checks,
        check=held_out.read_check(folder),
        hardened=hardened.read_hardened(folder),
        sets=read_sets(folder, described.direction, (_val_figures(seed), _val_figures(best))),
        remarks=remarks,
        pictures=pictured.read_pictures(folder),
        final=final.read_final(folder, described.direction),
        spent=replace(sum(rounds.values(), Spent()), seconds=seconds),
    )


def _val_figures(record: Committed) -> dict[str, Any]:
    return {**record.candidate.evaluation.metrics, "score": record.score}


def read_sets(folder: Path, direction: Direction, val: tuple[dict[str, Any], dict[str, Any]]) -> Sets | None:
    """Read the stored scores on the held-out and fresh sets; None if none belong to the present best program."""
    test, drawn = held_out.read_held_out(folder), fresh.read_fresh(folder)
    if test is None and drawn is None:
        return None
    return fresh.collect_sets(direction, val, test, drawn)


def _expect_run(folder: Path) -> None:
    missing = [name for name in ("config.yaml", "run.db") if not (folder / name).is_file()]
    if not missing:
        return
    runs = sorted(path.parent for path in folder.glob("*/run.db"))
    if runs:
        hint = f"; it holds {len(runs)} of them, the latest is {runs[-1]}"
    else:
        hint = ""
    raise StoreError(f"{folder} is not a run's folder: {' and '.join(missing)} expected in it{hint}")


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
    """Build the archive again from committed candidates, with migrations and resets."""
    broken = next((record for record in records if record.placed and record.score is None), None)
    if broken:
        raise StoreError(f"candidate {broken.id} is in the archive without a score: the run's database is corrupted")
    archive = about.archive
    tending = ArchivePolicy(
        direction=about.direction,
        islands=max([about.island_count, *(record.candidate.island + 1 for record in records)]),
        population=int(archive.get("population", 20)),
        migration_period=int(archive.get("migration_period", 0)),
        reset_period=int(archive.get("reset_period", 0)),
        resets=frozenset(resets),
        everywhere=archive.get("seed_islands", "all") == "all",
        seed=about.seed,
    )
    return replay_archive(tending, records, rounds)
