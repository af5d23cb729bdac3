"""Scoring of programs. A program is inspected, compared with known ones, and scored once, in stages if configured."""

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from oragent._base.errors import CandidateError, ConfigError
from oragent._base.protocol import Status
from oragent._base.racing import RaceTerms
from oragent._base.safe_load import parse_json
from oragent.evaluation import Evaluation, Job
from oragent.evaluation.capabilities import (
    CHECK,
    FLOOR,
    FRESH_SEED,
    HEURISTIC_S,
    INSTANCES,
    OBSERVER,
    PRACTICE,
    PROTOCOL,
    RACE,
    describe_missing,
    evaluator_arguments,
    extend_limits,
    mode_patience,
)
from oragent.evaluation.hardening import harden_program, harden_selection
from oragent.evaluation.job import (
    BELOW_FLOOR,
    KEEP,
    KEPT_METRIC,
    add_train_score,
    floor_score,
    passes_screening,
    screened_evaluation,
    share_compiled,
)
from oragent.evaluation.pool import EvaluationPool
from oragent.evaluation.problem import Problem
from oragent.programs.inspection import Inspected, find_unseeded, inspect_program
from oragent.programs.kept_arrays import KEPT, NAME, KeptArray, expand_references
from oragent.programs.parser_client import run_briefly
from oragent.search.archive import Archive
from oragent.search.caching import Cache
from oragent.search.candidate import Candidate, Elite
from oragent.search.coarse_times import round_coarsely
from oragent.search.config import Config
from oragent.search.evaluation_key import EvaluationKey, EvaluationKind, impure_text, screened_text
from oragent.search.experiments import DONE, SECONDS, Subset
from oragent.search.protected_sets import find_loss
from oragent.search.screening import race_result, terms_of, too_near
from oragent.search.store import Store

# Limit on sleep as a multiple of the seed's wall time, and minimum of this limit in seconds.
SLEEP_FACTOR, MIN_SLEEP_S = 4.0, 3.0
# Number of instances of a probe.
PROBED = 3


@dataclass(frozen=True)
class Gate:
    """Score that a program must reach at one size of ``val`` to be evaluated on all sizes."""

    # Problem size.
    size: int
    # Smallest score at that size to pass.
    bar: float


@dataclass(frozen=True)
class ScoredProgram:
    """Evaluation of a program, and its name in the store."""

    # Fingerprint of the program for a full score. Otherwise another name, so that the program can be scored later.
    name: str
    evaluation: Evaluation


@dataclass(frozen=True)
class Seen:
    """State of a round when it scores a program."""

    # Archive at the beginning of the round.
    archive: Archive
    # Candidates of the round so far.
    tried: Sequence[Candidate]
    # Function that returns True if a fingerprint was tried before or in this round.
    knows: Callable[[str], bool]
    # Function that raises an error if no new work may begin. It is called again when a worker is free.
    admit: Callable[[], None]
    # Description of the program for progress displays.
    what: str = ""
    # Number of the round. Evaluations of the oldest round come first, because other rounds wait for it.
    order: int = 0


class Scoring:
    """Scores programs for all rounds of a run. An evaluation is stored before it is used.

    ``clock`` returns the run's own time in seconds. ``offers`` are options of the evaluator beyond the contract.
    ``cache`` contains evaluations of other runs.
    """

    def __init__(
        self,
        problem: Problem,
        root: Path,
        config: Config,
        store: Store,
        pool: EvaluationPool,
        clock: Callable[[], float],
        offers: frozenset[str] = frozenset(),
        tell: Callable[[str], None] = lambda message: None,
        cache: Cache | None = None,
    ) -> None:
        self._cache = cache
        self._problem, self._root, self._config = problem, root, config
        self._store, self._pool, self._clock, self.tell = store, pool, clock, tell
        self._limits, self._offers = problem.make_limits(config.limits), offers
        self._options = self._make_options()
        # Number of instances of a scored evaluation, all sizes together; None if unknown.
        self._scored_instances: int | None = None
        self._protected = {name: plan_job(problem, root, config, offers, name) for name in problem.about.protect}
        lead = problem.about.work.lead
        self._more_work = plan_job(problem, root, config, offers, work=lead) if lead > 1 else None
        if config.protocol is not None and PROTOCOL not in offers:
            tell(describe_missing(PROTOCOL))
        self._floors = FLOOR in offers and config.cascade is not None
        sizes = problem.about.sizes.get("train", [])
        self._least = min(sizes) if sizes else None
        self._few = (f"{INSTANCES}={PROBED}",) if sizes and INSTANCES in offers else ()
        self.offers_instances = INSTANCES in offers
        self.practice = config.strategy.practice if PRACTICE in offers else None
        self.draws_practice = {PRACTICE, INSTANCES, FRESH_SEED} <= offers
        self.hooks = problem.about.hooks if OBSERVER in offers and sizes else {}
        if config.strategy.leader_rounds and not self.draws_practice:
            tell("new leaders lead by their scores, because the evaluator draws no practice instances (--fresh_seed)")
        races = config.race is not None or config.twins > 0
        self._races = races and RACE in offers
        if races and not self._races:
            tell(describe_missing(RACE))
        self._checks = CHECK in offers
        if not self._checks:
            tell(describe_missing(CHECK))
        if problem.heuristic_s(config.limits) is not None and HEURISTIC_S not in offers:
            tell(describe_missing(HEURISTIC_S))
        has_own_set = self.practice is not None or bool(sizes)
        self.keeps_arrays = KEEP in offers and has_own_set and problem.signature.language == "python"
        self._flying: dict[EvaluationKey, asyncio.Task[Evaluation]] = {}

    def take_limits(self, seed: Evaluation) -> None:
        """Take limits from the evaluation of the seed.

        Programs may sleep without using a CPU for a multiple of the seed's wall time. The time limits of an experiment
        are in proportion to its instances if it has more of them than a score.
        """
        idle_s = min(self._limits.idle_s, max(MIN_SLEEP_S, SLEEP_FACTOR * seed.wall_s))
        self._limits = replace(self._limits, idle_s=idle_s)
        count = seed.metrics.get(DONE)
        self._scored_instances = count if type(count) is int else None

    def _make_options(self, patience: float = 1.0) -> tuple[str, ...]:
        limits, device, protocol = self._config.limits, self._config.device, self._config.protocol
        return evaluator_arguments(
            self._problem, limits, self._offers, patience=patience, device=device, protocol=protocol
        )

    def _patience_for(self, subset: Subset, size: int | None) -> float:
        """Return the factor on the time limits for a number of practice instances; 1 if a score has as many."""
        sizes = (size,) if size is not None else subset.sizes or self._problem.about.sizes.get("val", ())
        if subset.mode != PRACTICE or subset.count is None or not self._scored_instances:
            return 1.0
        return max(1.0, subset.count * len(sizes) / self._scored_instances)

    def fingerprint(self, source: str) -> str:
        """Return the key of a program; equal programs have equal keys and are scored once."""
        return inspect_program(source, self._problem.signature).fingerprint

    def give_up(self) -> None:
        """Cancel all running evaluations; they are not stored."""
        for task in self._flying.values():
            task.cancel()

    def reject(self, text: str, why: str) -> ScoredProgram:
        """Store a text without a usable program as rejected, and the reason."""
        name = hashlib.sha256(text.encode(errors="replace")).hexdigest()
        return self._store_as(name, Evaluation(Status.REJECTED, message=why))

    async def probe(self, source: str, seen: Seen, observer: str = "") -> ScoredProgram:
        """Run a program for its output: on practice instances, or on a few of one size of ``train``.

        The result is stored under a key of its own. ``observer`` is the text of a program that receives the events of
        the evaluator's ``hooks``; it is untrusted, and runs in a sandbox like a candidate. Empty means no observer.
        """
        inspected = await self._inspect(source)
        if inspected.problem:
            return self.reject(source, inspected.problem)
        mode, size, few = "train" if self._least else None, self._least, self._few
        terms, patience = " ".join(few), 1.0
        if self.practice is not None:
            mode, size, few = PRACTICE, None, (f"{INSTANCES}={self.practice}",)
            terms = f"{PRACTICE} {self.practice}"
            patience = self._patience_for(Subset((), str(self.practice), PRACTICE), self._config.problem_size)
        key = EvaluationKey(inspected.fingerprint, EvaluationKind.PROBE, terms, observer)
        # What a program learns on val must not reach others.
        keeps = self.keeps_arrays and KEPT in source
        probed = await self._evaluate_once(
            key, source, seen, *few, mode=mode, size=size, observer=observer, keeps_arrays=keeps, patience=patience
        )
        return ScoredProgram(str(key), probed)

    async def measure(
        self, seen: Seen, source: str, size: int | None, subset: Subset, cpu_s: float, observer: str
    ) -> Evaluation:
        """Run a program on training or practice instances as an experiment.

        The result is stored and costs no evaluation.

        ``cpu_s`` is an additional limit; size None means all sizes of the set.
        """
        inspected = await self._inspect(source)
        if inspected.problem:
            return Evaluation(Status.REJECTED, message=inspected.problem)
        patience = self._patience_for(subset, size)
        limit = min(patience * self._limits.cpu_s, cpu_s)
        instances = f"{subset.instances} of seed {subset.seed}" if subset.seed else subset.instances
        key = EvaluationKey.of_experiment(inspected.fingerprint, size, instances, observer, subset.mode)
        limits = replace(self._limits, cpu_s=limit)
        text, options = self._with_arrays(source), (*self._make_options(patience), *subset.arguments)
        job = self._problem.make_job(text, self._root, limits, subset.mode, size, options, observer)
        job = share_compiled(job, self._offers)
        while (stored := self._store.evaluation(key) or self._store.evaluation(key.within(limit))) is None:
            if key not in self._flying:
                self._flying[key] = asyncio.create_task(self._run_experiment(key, job, seen))
            await asyncio.shield(self._flying[key])
        return stored

    async def _run_experiment(self, key: EvaluationKey, job: Job, seen: Seen) -> Evaluation:
        """Run an experiment and store it. A timeout is stored only for the limit at which it happened."""
        try:
            evaluation = await self._pool.evaluate(job, seen.admit, f"experiment, {seen.what}", seen.order)
            timed_out = evaluation.status is Status.TIMEOUT
            # Budgets count coarse steps, so that equal runs make the same number of experiments.
            counted_s = evaluation.cpu_s if timed_out else round_coarsely(evaluation.cpu_s)
            evaluation = replace(evaluation, metrics=evaluation.metrics | {SECONDS: counted_s})
            return self._store_evaluation(key.within(job.limits.cpu_s) if timed_out else key, evaluation)
        finally:
            del self._flying[key]

    async def score(self, source: str, seen: Seen, gate: Callable[[str], Gate | None] | None = None) -> ScoredProgram:
        """Score a program, or return the score of an equal one.

        ``gate`` returns the score that the program must reach at one size first, or None.
        """
        inspected = await self._inspect(source)
        if inspected.problem:
            return self.reject(source, inspected.problem)
        impure = impure_text(inspected.fingerprint)
        if seen.knows(impure) and (rejected := self._store.evaluation(impure)):
            return ScoredProgram(impure, rejected)
        was_evaluated = seen.knows(inspected.fingerprint)
        if not was_evaluated and (near := await self._find_near(source, seen)):
            why = f"hardly differs from candidate {near}; change something that matters"
            # The fingerprint is not used, because another round may still score the program.
            return self.reject(f"{source}\n{why}", why)
        if was_evaluated:
            key = EvaluationKey(inspected.fingerprint)
            return ScoredProgram(inspected.fingerprint, await self._evaluate_once(key, source, seen))
        if gate is not None and (stopped := await self._screen_at_size(inspected.fingerprint, source, seen, gate)):
            return stopped
        if (quantile := self._config.cascade) is None:
            return await self._on_val(inspected, source, seen)
        return await self._in_stages(inspected, source, quantile, seen)

    async def _screen_at_size(
        self, fingerprint: str, source: str, seen: Seen, gate: Callable[[str], Gate | None]
    ) -> ScoredProgram | None:
        """Score a program at one size first. Return None if it passes or if there is no gate."""
        requirement = await asyncio.to_thread(gate, source)
        if requirement is None:
            return None
        key = EvaluationKey(fingerprint, EvaluationKind.SIZE, str(requirement.size))
        quick = await self._evaluate_once(key, source, seen, size=requirement.size)
        if quick.score is None:
            return self._store_as(fingerprint, quick)
        if seen.archive.fitness(quick.score) >= seen.archive.fitness(requirement.bar):
            return None
        screened = screened_evaluation(quick, f"at size {requirement.size}")
        return self._store_as(screened_text(fingerprint), screened)

    async def check(self, candidate: Candidate, seen: Seen) -> Evaluation | None:
        """Check that a program is a function of its arguments: a fresh process repeats calls in another order.

        The calls are those of a probe on a few instances of the smallest size of ``train``. The check detects state and
        randomness in ordinary programs, but gives no guarantee.

        Returns:
            The evaluation as a rejected one if an answer differs, else None.

        Raises:
            BudgetExhausted, Interrupted: Raised by ``seen.admit``.
        """
        chance = find_unseeded(candidate.source, self._problem.signature.language)
        if chance:
            self.tell(f"a candidate that would lead is random by itself: {chance}")
        if not self._checks:
            return None
        mode = "train" if self._least else None
        key = EvaluationKey(candidate.fingerprint, EvaluationKind.CHECK)
        check = await self._evaluate_once(key, candidate.source, seen, *self._few, CHECK, mode=mode, size=self._least)
        if check.status is not Status.REJECTED:
            return None
        message = f"{check.message}; {chance}" if chance else check.message
        return reject_leader(candidate, message, check.traceback)

    async def harden(self, candidate: Candidate, seen: Seen) -> Evaluation | None:
        """Run a program with unusual arguments, if ``protect`` is set.

        Returns:
            The evaluation as a rejected one if a case fails, else None.
        """
        if not self._config.protect or candidate.source == self._problem.seed:
            return None
        mode, options = harden_selection(self._problem, self._offers)

        async def measure(text: str, cpu_s: float | None) -> Evaluation:
            terms = hashlib.sha256(text.encode(errors="replace")).hexdigest()
            key = EvaluationKey(candidate.fingerprint, EvaluationKind.HARDEN, terms)
            return await self._evaluate_once(key, text, seen, *options, mode=mode, cpu_s=cpu_s)

        try:
            hardened = await harden_program(measure, self._problem, candidate.source)
        except ConfigError as problem:
            self.tell(str(problem))
            return None
        if hardened.failures:
            return reject_leader(candidate, hardened.sentence)
        return None

    async def check_protected(self, candidate: Candidate, seen: Seen) -> Evaluation | None:
        """Compare a program with the seed on the protected sets of the problem.

        Only whether a leader loses comes back from these sets, without figures.

        Returns:
            The evaluation as a rejected one if the program fails or loses on one of them, else None.
        """
        if candidate.source == self._problem.seed:
            return None
        for name, job in self._protected.items():
            seed = await self._run_job(EvaluationKey("seed", EvaluationKind.SET, name), job, seen)
            if seed.score is None:
                self.tell(f"set {name} protects nothing, because the seed has no score there: {seed.message}")
                continue
            key = EvaluationKey(candidate.fingerprint, EvaluationKind.SET, name)
            program = await self._run_job(key, self._with_source(job, candidate.source), seen)
            if program.score is None:
                return reject_leader(candidate, f"it fails on the protected set {name}: {program.status}")
            if find_loss(
                self._problem.about.direction,
                seed.metrics | {"score": seed.score},
                program.metrics | {"score": program.score},
            ):
                return reject_leader(candidate, f"it loses against the seed on the protected set {name}")
        return None

    async def check_more_work(self, candidate: Candidate, best: Elite | None, seen: Seen) -> Evaluation | None:
        """Compare a program that would lead with the present best one at more work, if the problem asks for it.

        Returns:
            The evaluation as a rejected one if the program fails or is worse there, else None.
        """
        if self._more_work is None or best is None:
            return None
        scores = []
        for source in (best.source, candidate.source):
            key = EvaluationKey(self.fingerprint(source), EvaluationKind.WORK, f"{self._problem.about.work.lead:g}")
            ended = await self._run_job(key, self._with_source(self._more_work, source), seen)
            scores.append(ended.score)
        before, after = scores
        words = f"at {self._problem.about.work.lead:g} times the work"
        if after is None:
            return reject_leader(candidate, f"it fails {words}: {ended.status}: {ended.message}")
        if before is not None and self._problem.about.direction.better(before, after):
            return reject_leader(candidate, f"{words} it gets {after:.6g}, and the best program so far {before:.6g}")
        return None

    def _with_source(self, job: Job, source: str) -> Job:
        return replace(job, source=self._with_arrays(source))

    def store_impure(self, fingerprint: str, rejected: Evaluation) -> str:
        """Store the evaluation of a program that failed its check; return the fingerprint under which it is stored."""
        name = impure_text(fingerprint)
        self._store_evaluation(name, rejected)
        return name

    async def _in_stages(self, inspected: Inspected, source: str, quantile: float, seen: Seen) -> ScoredProgram:
        fingerprint = inspected.fingerprint
        quick = await self._evaluate_once(EvaluationKey(fingerprint, EvaluationKind.TRAIN), source, seen, mode="train")
        if quick.status is not Status.OK:
            return self._store_as(fingerprint, quick)
        elites = [elite.metrics for elite in seen.archive.elites()]
        if not passes_screening(quick, elites, seen.archive.direction, quantile):
            return self._store_as(screened_text(fingerprint), screened_evaluation(quick))
        full = await self._on_val(inspected, source, seen)
        if full.evaluation.metrics.get(BELOW_FLOOR):
            return self._store_as(screened_text(fingerprint), screened_evaluation(quick))
        return self._store_as(full.name, add_train_score(full.evaluation, quick))

    async def _on_val(self, inspected: Inspected, source: str, seen: Seen) -> ScoredProgram:
        """Score a program on ``val``. If the evaluator supports races, end early if the elites are out of reach.

        Only the state of this round determines the early end, even if another round has the full result.
        """
        fingerprint, archive, quantile = inspected.fingerprint, seen.archive, self._config.cascade
        if self._races:
            terms = terms_of(archive, inspected.length, self._config.race, self._config.twins)
            return await self._score_in_race(fingerprint, source, terms, seen)
        floor = None
        if self._floors and quantile is not None:
            floor = floor_score([elite.score for elite in archive.elites()], archive.direction, quantile)
        if floor is None:
            return ScoredProgram(fingerprint, await self._evaluate_once(EvaluationKey(fingerprint), source, seen))
        key = EvaluationKey(fingerprint, EvaluationKind.FLOOR, repr(floor))
        return ScoredProgram(fingerprint, await self._evaluate_once(key, source, seen, f"{FLOOR}={floor!r}"))

    async def _score_in_race(self, fingerprint: str, source: str, terms: RaceTerms, seen: Seen) -> ScoredProgram:
        """Score a program in a race.

        The result is stored under the program's own key only if the race reached its end.
        """
        key, full = EvaluationKey.of_race(fingerprint, terms.dumps()), self._store.evaluation(fingerprint)
        raced = race_result(full, terms) if full else None
        if raced is None:
            raced = await self._evaluate_once(key, source, seen, f"{RACE}={terms.dumps()}")
        if raced.status is Status.SCREENED:
            return ScoredProgram(str(key), self._store.evaluation(key) or self._store_evaluation(key, raced))
        stored = self._store.evaluation(fingerprint) or self._store_evaluation(fingerprint, raced)
        return ScoredProgram(fingerprint, stored)

    async def _evaluate_once(
        self,
        key: EvaluationKey,
        source: str,
        seen: Seen,
        *options: str,
        mode: str | None = None,
        size: int | None = None,
        observer: str = "",
        cpu_s: float | None = None,
        keeps_arrays: bool = False,
        patience: float = 1.0,
    ) -> Evaluation:
        if (stored := self._store.evaluation(key)) is not None:
            return stored
        limits = replace(self._limits, cpu_s=patience * self._limits.cpu_s if cpu_s is None else cpu_s)
        text, size = self._with_arrays(source), size or self._config.problem_size
        arguments = (*self._make_options(patience), *options)
        job = self._problem.make_job(text, self._root, limits, mode, size, arguments, observer)
        return await self._run_job(key, replace(job, keeps_arrays=keeps_arrays), seen)

    async def _run_job(self, key: EvaluationKey, job: Job, seen: Seen) -> Evaluation:
        if (stored := self._store.evaluation(key)) is not None:
            return stored
        if key not in self._flying:
            what = f"{seen.what}, on {job.mode}" if job.mode else seen.what
            self._flying[key] = asyncio.create_task(self._evaluate_job(key, job, seen, what))
        return await asyncio.shield(self._flying[key])

    async def _inspect(self, source: str) -> Inspected:
        """Inspect a program. A program that loads an array which the run does not have is rejected."""
        inspected = await run_briefly(partial(inspect_program, source, self._problem.signature))
        if inspected.problem:
            return inspected
        try:
            self._with_arrays(source)
        except CandidateError as problem:
            return replace(inspected, problem=str(problem))
        return inspected

    def _with_arrays(self, source: str) -> str:
        """Return a program with the content of the arrays that it loads."""
        if self._problem.signature.language != "python":
            return source
        return expand_references(source, self._store.array)

    async def _evaluate_job(self, key: EvaluationKey, job: Job, seen: Seen, what: str) -> Evaluation:
        try:
            # A check looks for randomness, so its result is never cached.
            cache = None if key.kind is EvaluationKind.CHECK or job.keeps_arrays else self._cache
            if cache is not None and (cached := cache.find(str(key), job)) is not None:
                seen.admit()
                return self._store_evaluation(key, cached)
            evaluation = await self._pool.evaluate(job, seen.admit, what, seen.order)
            if cache is not None:
                cache.keep(str(key), job, evaluation)
            if job.keeps_arrays:
                evaluation = self._store_arrays(evaluation)
            return self._store_evaluation(key, evaluation)
        finally:
            del self._flying[key]

    def _store_arrays(self, evaluation: Evaluation) -> Evaluation:
        """Store the arrays that a probe kept before its evaluation, whose metric then lists them."""
        metrics = {name: value for name, value in evaluation.metrics.items() if name != KEPT_METRIC}
        text = evaluation.metrics.get(KEPT_METRIC)
        if not isinstance(text, str):
            return replace(evaluation, metrics=metrics)
        try:
            tree = parse_json(text, len(text))
            if "problem" in tree:
                return replace(evaluation, metrics=metrics | {KEPT_METRIC: str(tree["problem"])})
            arrays = {name: KeptArray.read(value) for name, value in tree["arrays"].items() if NAME.fullmatch(name)}
        except (ValueError, KeyError, TypeError, AttributeError):
            return replace(evaluation, metrics=metrics | {KEPT_METRIC: "the arrays cannot be read"})
        for array in arrays.values():
            self._store.keep_array(array)
        listed = {name: [array.digest, array.dtype, list(array.shape)] for name, array in arrays.items()}
        return replace(evaluation, metrics=metrics | {KEPT_METRIC: listed})

    async def _find_near(self, source: str, seen: Seen) -> str | None:
        """Return the id of an elite, or the fingerprint of a program of this round, if it nearly equals a program."""
        threshold = self._config.strategy.novelty
        if not threshold:
            return None
        tried = [candidate for candidate in seen.tried if candidate.score is not None and not candidate.is_probe]
        compared: list[Elite | Candidate] = [*seen.archive.elites(), *tried]
        programs = [(program.id, program.source) for program in compared]
        return await asyncio.to_thread(too_near, source, programs, threshold, self._problem.signature)

    def _store_as(self, name: str, evaluation: Evaluation) -> ScoredProgram:
        return ScoredProgram(name, self._store_evaluation(name, evaluation))

    def _store_evaluation(self, key: EvaluationKey | str, evaluation: Evaluation) -> Evaluation:
        """Write an evaluation and read it back, so that a resumed run sees the same values."""
        evaluation = self._store.with_first_times(key, evaluation)
        self._store.keep_evaluation(key, evaluation, self._clock())
        return self._store.evaluation(key) or evaluation


def reject_leader(candidate: Candidate, message: str, trace: str = "") -> Evaluation:
    """Return the evaluation of a new best program as a rejected one."""
    return replace(
        candidate.evaluation,
        status=Status.REJECTED,
        score=None,
        features=None,
        message=message[:1000],
        traceback=trace,
    )


def plan_job(
    problem: Problem,
    root: Path,
    config: Config,
    offers: frozenset[str],
    mode: str | None = None,
    work: float = 1.0,
    source: str = "",
) -> Job:
    """Return the job of a program, by default the seed, on a set or mode of a problem, with a factor on its work.

    Raises:
        ProblemError: The evaluator cannot read the instances of the set, or has one amount of work.
    """
    patience = mode_patience(mode)
    arguments = evaluator_arguments(
        problem,
        config.limits,
        offers,
        patience=patience,
        device=config.device,
        protocol=config.protocol,
        mode=mode,
        root=root,
        work=work,
    )
    limits = extend_limits(problem.make_limits(config.limits, patience, mode), work)
    size = None if mode in problem.about.named_sets else config.problem_size
    return problem.make_job(source or problem.seed, root, limits, mode, size, arguments)
