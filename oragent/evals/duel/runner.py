"""Evaluations of a duel, round by round, in a folder that a repeated command continues."""

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated

from annotated_types import Ge, Lt
from pydantic import FiniteFloat, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as checked

from oragent._base.direction import Direction
from oragent._base.errors import ConfigError, ProblemError, StoreError
from oragent._base.files import file_stem, hold_lock, read_bounded, replace_file
from oragent._base.racing import read_instance_values
from oragent._base.safe_load import parse_json
from oragent._base.settings import STRICT
from oragent._base.statistics import LEAST_DRAWN
from oragent._base.text_format import one_line
from oragent.evals.duel.contestants import Contestant
from oragent.evals.duel.verdict import Decision, DuelRound, DuelVerdict, StoppingRule, decide, judge_duel, pool_gains
from oragent.evaluation import Evaluation, Job
from oragent.evaluation.capabilities import (
    FRESH_SEED,
    INSTANCES,
    PRACTICE,
    WORK,
    describe_missing,
    help_job,
    parse_options,
    require_all,
)
from oragent.evaluation.devices import pin_device
from oragent.evaluation.job import hash_data
from oragent.evaluation.pool import EvaluationPool
from oragent.evaluation.problem import Problem
from oragent.ledger.case import wait_for_all
from oragent.search.caching import hash_conditions
from oragent.search.config import Config
from oragent.search.experiment_runner import run_to_end
from oragent.search.launch import open_evaluations
from oragent.search.scoring import plan_job

FILE = "duel.json"
FRESH, TEST = "fresh", "test"
# Sets whose instances are drawn by a seed.
DRAWN_SETS = (FRESH, PRACTICE)
# Default number of rounds, each with newly drawn instances.
ROUNDS = 10
# Levels of a decision.
MIN_LEVEL, MAX_LEVEL = 1e-12, 0.5
FORMAT = 1
MAX_BYTES = 64 << 20
SEED_BYTES = 6
SEED_BITS = 8 * SEED_BYTES
# Digits of a factor on the work.
WORK_DIGITS = 3


@dataclass(frozen=True)
class DuelPlan:
    """Request of a duel."""

    problem: Problem
    # Root of evaluations.
    root: Path
    contestants: tuple[Contestant, Contestant]
    config: Config
    # Name of the set; empty: fresh instances where the evaluator draws some, else the held-out set.
    on: str = ""
    # Maximum number of rounds on newly drawn instances.
    rounds: int = ROUNDS
    level: float = 0.01
    gap: float = 0.0
    # Number of instances of each size and round, on practice instances; 0: all.
    instances: int = 0
    # Factor on the work of each solve, where the evaluator counts it.
    work: float = 1.0
    # Whether the faster program gets as much more work as it takes to use the same CPU time.
    equal_time: bool = False
    # Folder of the duel, or of all duels of the problem if it is None.
    folder: Path | None = None
    outputs: Path | None = None
    # Seed of the first round; None draws it from the operating system's entropy.
    first_seed: int | None = None

    def __post_init__(self) -> None:
        if not MIN_LEVEL <= self.level < MAX_LEVEL:
            expected = f"expected at least {MIN_LEVEL:g} and less than {MAX_LEVEL:g}"
            raise ConfigError(f"a duel until p < {self.level:g}: {expected}")
        if not 0 <= self.gap < 1:
            raise ConfigError(f"a duel with a gap of {self.gap:g}: expected at least 0 and less than 1, such as 0.001")
        if self.rounds < 1:
            raise ConfigError(f"a duel of {self.rounds} rounds: expected at least 1")


@checked(config=STRICT)
class DuelRecord:
    """Content of the file of a duel."""

    format: int
    # Hash of programs, evaluator and machine, under which the evaluations were made.
    conditions: str
    problem: str
    direction: Direction
    on: str
    names: tuple[str, str]
    level: Annotated[float, Ge(MIN_LEVEL), Lt(MAX_LEVEL)]
    gap: Annotated[float, Ge(0), Lt(1)]
    # Seed of the first round; the others follow it.
    first_seed: int
    # Factors on the work of both programs.
    work: tuple[FiniteFloat, FiniteFloat] = (1.0, 1.0)
    rounds: list[DuelRound] = field(default_factory=list)

    @property
    def is_drawn(self) -> bool:
        """True if each round has its own instances."""
        return self.on in DRAWN_SETS

    @property
    def rule(self) -> StoppingRule:
        """Rule that ends the duel."""
        return StoppingRule(self.level, self.gap, self.is_drawn)

    @property
    def is_decided(self) -> bool:
        """True if the rule ends the duel within the stored rounds."""
        return decide(pool_gains(self.direction, self.judged), self.rule).decision is not Decision.OPEN

    @property
    def judged(self) -> list[DuelRound]:
        """Rounds up to the one that decides the duel; all of them if none does."""
        rounds = self.rounds
        for count in range(1, len(rounds)):
            if decide(pool_gains(self.direction, rounds[:count]), self.rule).decision is not Decision.OPEN:
                return rounds[:count]
        return rounds

    def judge(self) -> DuelVerdict:
        """Judge the rounds up to the end of the duel."""
        return judge_duel(self.direction, self.names, self.judged, self.rule)


def read_record(folder: Path) -> DuelRecord:
    """Read the file of a duel.

    Raises:
        StoreError: It is missing or damaged.
    """
    path = folder / FILE
    try:
        tree = parse_json(read_bounded(path, MAX_BYTES))
        record = TypeAdapter(DuelRecord).validate_python(tree)
    except (OSError, UnicodeDecodeError, ValueError, ValidationError) as problem:
        raise StoreError(f"cannot read {path}: {one_line(str(problem))}; remove its folder to begin again") from None
    if not record.rounds:
        raise StoreError(f"{path} has no rounds; remove its folder to begin again")
    if record.format != FORMAT:
        raise StoreError(f"{path} has the format {record.format}, and this version reads {FORMAT}: begin a new duel")
    return record


@dataclass(frozen=True)
class Duel:
    """A duel with its verdict."""

    record: DuelRecord
    verdict: DuelVerdict
    # Its folder; None if nothing is stored.
    folder: Path | None


async def hold_duel(plan: DuelPlan, observe: Callable[[DuelRecord], None] = lambda record: None) -> Duel:
    """Evaluate two programs round by round until the stopping rule ends the duel.

    Rounds run ahead on several workers, but are judged in their order, so the answer does not depend on the number of
    workers.

    Raises:
        OragentError: A program has no score, the set does not exist, or the folder belongs to another duel.
    """
    require_all(plan.problem)
    config = replace(plan.config, device=pin_device(plan.config.device, plan.problem).device)
    plan = replace(plan, config=config)
    async with open_evaluations(config, plan.root, plan.problem) as places:
        pool = places.pool()
        try:
            job = help_job(plan.problem, plan.root, config.limits)
            offers = parse_options(await pool.evaluate(job)) if job else frozenset[str]()
            return await _DuelRunner(plan, pool, offers, observe).run()
        finally:
            pool.close()


class _DuelRunner:
    def __init__(
        self, plan: DuelPlan, pool: EvaluationPool, offers: frozenset[str], observe: Callable[[DuelRecord], None]
    ) -> None:
        on = plan.on or (FRESH if FRESH_SEED in offers else TEST)
        if on in DRAWN_SETS and (FRESH_SEED not in offers or (on == PRACTICE and PRACTICE not in offers)):
            raise ProblemError(f"{plan.problem.name} draws no {on} instances: name another set by --on, such as {TEST}")
        if on not in DRAWN_SETS and plan.level <= LEAST_DRAWN:
            raise ConfigError(f"{on} is a fixed set, whose p is at least {LEAST_DRAWN:.1g}: name a larger level")
        if plan.instances and (on != PRACTICE or INSTANCES not in offers):
            raise ConfigError(f"a number of instances goes with --on {PRACTICE} alone, and not with {on}")
        if plan.equal_time and WORK not in offers:
            raise ConfigError(f"equal CPU time is not possible: {describe_missing(WORK)}")
        self._plan, self._pool, self._offers, self._observe = plan, pool, offers, observe
        self._record = self._begin_record(on)
        self._limit = plan.rounds if self._record.is_drawn else 1
        self._folder = self._find_folder()

    async def run(self) -> Duel:
        folder, record = self._folder, self._record
        if folder is None:
            return await self._play()
        folder.mkdir(parents=True, exist_ok=True)
        with hold_lock(folder / ".lock"):
            if (folder / FILE).exists():
                stored = read_record(folder)
                if stored.conditions != record.conditions:
                    raise StoreError(f"{folder} has a duel of other programs or conditions: name a new --outputs")
                self._record = replace(record, first_seed=stored.first_seed, work=stored.work, rounds=stored.rounds)
            for contestant, name in zip(self._plan.contestants, ("first", "second"), strict=True):
                suffix = Path(self._plan.problem.about.candidate.names[0]).suffix
                replace_file(folder / f"{name}{suffix}", contestant.source)
            return await self._play()

    async def _play(self) -> Duel:
        if self._plan.equal_time and not self._record.rounds:
            await self._equalise_time()
        width = max(1, self._plan.config.cores // 2)
        while (begun := len(self._record.rounds)) < self._limit and not (begun and self._record.is_decided):
            numbers = range(begun, min(self._limit, begun + width))
            self._record.rounds += await wait_for_all([self._play_round(number) for number in numbers])
            self._store()
        return Duel(self._record, self._record.judge(), self._folder)

    def _store(self) -> None:
        if self._folder is not None:
            replace_file(self._folder / FILE, json.dumps(asdict(self._record)))
        self._observe(self._record)

    async def _equalise_time(self) -> None:
        """Measure the CPU time of both programs at equal work, on instances of their own if the set is drawn."""
        seconds = (await self._play_round(-1)).cpu_s
        if min(seconds) > 0:
            work, slowest = self._plan.work, max(seconds)
            self._record.work = (work * slowest / seconds[0], work * slowest / seconds[1])

    async def _play_round(self, number: int) -> DuelRound:
        seed = (self._record.first_seed + number) % 2**SEED_BITS if self._record.is_drawn else None
        jobs = [self._make_job(place, seed) for place in (0, 1)]
        ended = await wait_for_all([self._pool.evaluate(job) for job in jobs])
        values = [self._read_values(*pair) for pair in zip(self._plan.contestants, ended, strict=True)]
        if {size: len(of_size) for size, of_size in values[0].items()} != {
            size: len(of_size) for size, of_size in values[1].items()
        }:
            raise ProblemError(f"{self._plan.problem.name} measured the programs on different instances")
        # The work of a solver counts, too, where a program shapes it.
        measure = _total_seconds if WORK in self._offers else _call_seconds
        seconds = [measure(evaluation) for evaluation in ended]
        return DuelRound((values[0], values[1]), (seconds[0], seconds[1]), seed)

    def _make_job(self, place: int, seed: int | None) -> Job:
        plan, work = self._plan, round(self._record.work[place], WORK_DIGITS)
        source = plan.contestants[place].source
        job = plan_job(plan.problem, plan.root, plan.config, self._offers, self._record.on, work, source)
        drawn = () if seed is None else (f"{FRESH_SEED}={seed}",)
        chosen = (f"{INSTANCES}={plan.instances}",) if plan.instances else ()
        return replace(job, arguments=(*job.arguments, *drawn, *chosen))

    def _read_values(self, contestant: Contestant, evaluation: Evaluation) -> dict[str, list[float]]:
        if evaluation.score is None:
            why = f"{evaluation.status}: {one_line(evaluation.message)}"
            raise ProblemError(f"{contestant.name} has no score on {self._record.on}: {why}")
        # Without values of instances, a drawn set is one pair.
        return read_instance_values(evaluation.metrics) or {"score": [evaluation.score]}

    def _begin_record(self, on: str) -> DuelRecord:
        plan = self._plan
        config, sources = plan.config, [contestant.source for contestant in plan.contestants]
        settings = (
            on,
            plan.instances,
            plan.work,
            plan.equal_time,
            config.problem_size,
            config.device,
            config.protocol,
            asdict(config.limits),
        )
        data = plan.problem.find_data(on, plan.root)
        digest = "" if data is None else hash_data(data)
        conditions = json.dumps([hash_conditions(plan.problem, plan.root), digest, *settings, *sources])
        return DuelRecord(
            format=FORMAT,
            conditions=hashlib.sha256(conditions.encode()).hexdigest(),
            problem=plan.problem.name,
            direction=plan.problem.about.direction,
            on=on,
            names=(plan.contestants[0].name, plan.contestants[1].name),
            level=plan.level,
            gap=plan.gap,
            work=(plan.work, plan.work),
            first_seed=int.from_bytes(os.urandom(SEED_BYTES), "big") if plan.first_seed is None else plan.first_seed,
        )

    def _find_folder(self) -> Path | None:
        if self._plan.folder is not None or self._plan.outputs is None:
            return self._plan.folder
        names = "-".join(file_stem(Path(name).stem, "program", limit=24) for name in self._record.names)
        return self._plan.outputs / "duels" / self._plan.problem.name / f"{names}-{self._record.conditions[:8]}"


def _total_seconds(evaluation: Evaluation) -> float:
    return evaluation.cpu_s


def _call_seconds(evaluation: Evaluation) -> float:
    seconds = evaluation.metrics.get("heuristic_seconds")
    return float(seconds) if isinstance(seconds, int | float) else evaluation.cpu_s


def run_duel(plan: DuelPlan, observe: Callable[[DuelRecord], None] = lambda record: None) -> Duel:
    """Hold a duel in an event loop of its own."""
    return run_to_end(hold_duel(plan, observe))
