"""Data of a run, read from its folder without changing it: progress over evaluations, and cost."""

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
from oragent.report import final_round, fresh, hardened, held_out, run_configuration, solution_pictures
from oragent.report.final_round import Final
from oragent.report.fresh import Sets
from oragent.report.held_out import BestCheck
from oragent.report.pages.text import Gain, measure_gain
from oragent.report.research import Research, read_research
from oragent.report.run_configuration import About
from oragent.report.run_verdicts import RunVerdict, read_verdicts
from oragent.report.solution_pictures import Picture
from oragent.report.swept_reference import SweptReference, read_swept
from oragent.search.archive import Archive, ArchivePolicy, replay_archive
from oragent.search.candidate import Committed, Elite
from oragent.search.checks import way_on
from oragent.search.events import PurityChecks
from oragent.search.folder import repeat_command
from oragent.search.leader_race import LeaderRace, list_races
from oragent.search.store import Store


@dataclass(frozen=True)
class CallTotals:
    """Sums over model calls."""

    number: int
    tokens_in: int
    tokens_out: int
    # US dollars for the replies with known prices.
    cost: float
    # Number of replies with unknown prices.
    unpriced: int
    # Seconds of waiting, summed over calls, which may have run in parallel.
    seconds: float
    # Number of attempts that failed before a reply.
    retries: int

    @property
    def tokens(self) -> int:
        """Tokens of prompts and replies."""
        return self.tokens_in + self.tokens_out


@dataclass(frozen=True)
class Spend:
    """Cost of a run."""

    # Number of programs that were tried, including equal and rejected ones, but not probes.
    candidates: int
    # Number of programs that were run only for their output.
    probes: int
    # Number of programs that were ended before a full score, because of bad results.
    screened: int
    # Number of programs that were run, including probes. Equal ones count once.
    evaluations: int
    # Seconds of the run's own time, over all sessions.
    seconds: float
    # CPU seconds of all evaluations.
    cpu_s: float
    # Median wall-clock seconds of an evaluation. None without one.
    wall_median_s: float | None
    calls: CallTotals
    by_role: dict[str, CallTotals]

    @property
    def per_hour(self) -> float | None:
        """Evaluations per hour. None before any time has passed."""
        if self.seconds > 0:
            return self.evaluations / self.seconds * 3600
        return None


def sum_spending(records: Sequence[Committed], replies: Sequence[RecordedReply], seconds: float) -> Spend:
    """Sum up the cost of a run."""
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
    """Scored candidate in the progress of a run."""

    # Number of evaluations so far, including its own. Equal programs count once.
    at: float
    score: float
    # Best score so far, including its own.
    best: float


def progress_by_evaluations(records: Sequence[Committed], direction: Direction) -> tuple[ProgressPoint, ...]:
    """Return the progress in the order of commitment. Equal programs count once.

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
            best = direction.best((points[-1].best, score)) if points else score
            points.append(ProgressPoint(float(evaluations), score, best))
            shown.add(candidate.fingerprint)
    return tuple(points)


@dataclass(frozen=True)
class RunData:
    """Data of a run."""

    folder: Path
    about: About
    # All committed candidates in order, including probes.
    records: tuple[Committed, ...]
    # All replies of models in order.
    replies: tuple[RecordedReply, ...]
    # Elites of each island at the end, best first.
    islands: tuple[tuple[Committed, ...], ...]
    seed: Committed
    best: Committed
    # Progress of the best score, over evaluations.
    by_evaluations: tuple[ProgressPoint, ...]
    # Failed candidates without probes, by status, the most frequent first.
    failures: dict[Status, tuple[Committed, ...]]
    # First parents from the best candidate back to the oldest.
    descent: tuple[Committed, ...]
    spend: Spend
    # Notes of its research rounds. None if the strategy has none.
    research: Research | None
    # Reason for its end. None if it was killed or still runs.
    end: str | None
    # Number of runs for sweeps and probes on training instances, and their CPU seconds.
    experiments: tuple[int, float] = (0, 0.0)
    # Cost of the checks of new best programs.
    checks: PurityChecks = field(default_factory=PurityChecks)
    # Comparisons of new best programs with the ones before on new instances.
    races: tuple[LeaderRace, ...] = ()
    # Check of the best program. None if it was not made.
    check: BestCheck | None = None
    # Test of the best program with unusual arguments. None if it was not made.
    hardened: HardenedProgram | None = None
    # Scores on ``val``, the held-out, fresh and named sets. None if not made.
    sets: Sets | None = None
    # Comparison with a swept reference. None if it was not made.
    reference: SweptReference | None = None
    # Best program against earlier ones on new instances, at the end of the run. Empty if not made.
    verdicts: tuple[RunVerdict, ...] = ()
    # Messages to the user during the run.
    remarks: tuple[str, ...] = ()
    # Budget used.
    spent: Spent = field(default_factory=Spent)
    # Pictures of solutions of the best program. Empty if not drawn.
    pictures: tuple[Picture, ...] = ()
    # Final round of its best elites. None if it was not made.
    final: Final | None = None

    @property
    def name(self) -> str:
        """Name of the folder."""
        return self.folder.resolve().name

    @property
    def resume_command(self) -> str:
        """Command that continues the run, also if its budget is used up."""
        again = repeat_command(self.about.problem_reference, self.about.settings)
        return way_on(self.folder, self.about.budget, self.spent, self.end or "", again)

    @property
    def gain(self) -> Gain:
        """Gain of the search over the seed."""
        return self.gain_of(self.best.candidate.evaluation.score)

    @property
    def all_elites(self) -> list[Elite]:
        """Elites of all islands, each once, best first."""
        elites_by_id = {record.id: Elite.of(record) for island in self.islands for record in island}
        return sorted(elites_by_id.values(), key=lambda elite: -self.about.direction.fitness(elite.score))

    def gain_of(self, score: float | None) -> Gain:
        """Return the gain of a score over that of the seed."""
        base = self.seed.candidate.evaluation.score
        assert base is not None
        assert score is not None
        return measure_gain(self.about.direction, base, score)


def load_run(folder: Path) -> RunData:
    """Read a run.

    Raises:
        StoreError: The folder is not a run, its database is corrupted, or no candidate has a score yet.
        ConfigError: Its ``config.yaml`` is not the configuration of a run.
    """
    _expect_run(folder)
    described = run_configuration.read_about(folder / "config.yaml")
    path = folder / "run.db"
    try:
        with Store(path, readonly=True) as store:
            records, replies = tuple(store.binned()), tuple(store.replies.all_replies())
            seconds, end, rounds = store.elapsed_s(), store.meta("end"), store.rounds()
            notes, checks, remarks = store.notes(), store.purity_checks(), tuple(store.remarks())
            resets, experiments, races = store.resets(), store.experiments(), list_races(notes)
    except (ValueError, TypeError, KeyError) as problem:
        raise StoreError(f"{path} is corrupted ({problem}); restore it from a copy or start a new run") from None
    archive = replay_run(described, records, len(rounds), resets)
    if archive.best is None:
        raise StoreError(f"no candidate in {folder} has a score yet: wait, or continue it with 'oragent resume'")
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
        races=races,
        check=held_out.read_check(folder),
        hardened=hardened.read_hardened(folder),
        sets=read_sets(folder, described.direction, (_val_figures(seed), _val_figures(best))),
        reference=read_swept(folder),
        verdicts=read_verdicts(folder),
        remarks=remarks,
        pictures=solution_pictures.read_pictures(folder),
        final=final_round.read_final(folder, described.direction),
        spent=replace(sum(rounds.values(), Spent()), seconds=seconds),
    )


def _val_figures(record: Committed) -> dict[str, Any]:
    return {**record.candidate.evaluation.metrics, "score": record.score}


def read_sets(folder: Path, direction: Direction, val: tuple[dict[str, Any], dict[str, Any]]) -> Sets | None:
    """Read the stored scores on other sets than val, or None if none belong to the present best program."""
    test, drawn, named = held_out.read_held_out(folder), fresh.read_fresh(folder), held_out.read_named_sets(folder)
    if test is None and drawn is None and not named:
        return None
    return fresh.collect_sets(direction, val, test, drawn, named)


def _expect_run(folder: Path) -> None:
    missing = [name for name in ("config.yaml", "run.db") if not (folder / name).is_file()]
    if not missing:
        return
    runs = sorted(path.parent for path in folder.glob("*/run.db"))
    hint = f"; it holds {len(runs)} of them, the latest is {runs[-1]}" if runs else ""
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
    """Rebuild the archive from committed candidates, with migrations and resets."""
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
