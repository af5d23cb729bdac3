"""Probes and sweeps of a round: runs of programs that cost no evaluation, within a budget of their own."""

import json
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol, Self

import numpy as np

from oragent._base.budget import Spent
from oragent._base.errors import CandidateError, ConfigError
from oragent.evaluation import Evaluation
from oragent.evaluation.job import KEPT_METRIC
from oragent.evaluation.pool import RunningJob
from oragent.evaluation.problem import Problem
from oragent.ledger import LedgerCase
from oragent.ledger.case import wait_for_all
from oragent.programs.inspection import fit_to_frame
from oragent.programs.kept_arrays import LOAD, MAX_OF_RUN, loads_arrays, pin_references
from oragent.search.candidate import PROBE, Candidate
from oragent.search.config import Config
from oragent.search.experiments import (
    CPU_S,
    EVOLVED_SETTINGS,
    MIN_S,
    PRACTICE,
    InstanceRunner,
    ProbeResult,
    Refit,
    Subset,
    SweepResult,
    read_axes,
    run_probe,
    run_sweep,
)
from oragent.search.run_context import RunContext
from oragent.search.scoring import ScoredProgram, Seen
from oragent.search.store import RoundNote

# Number of probes that a run may make at first, and number of further probes per evaluation.
FREE_PROBES, PROBES_AN_EVALUATION = 20, 1
# At first, experiments may use the CPU seconds of this many evaluations.
FREE_EXPERIMENTS = 10
# Kind of notes that hold the CPU seconds of a sweep or probe.
EXPERIMENT_S = "experiment seconds"
# Kind of notes that list the arrays of probes.
ARRAY = "kept array"


@dataclass(frozen=True)
class KeptNote:
    """Array that a probe kept."""

    # Number of the probe's round.
    round: int
    # Name by which programs load it.
    name: str
    # Digest of its content.
    digest: str
    # Type as numpy writes it.
    dtype: str
    # Number of elements along each axis.
    shape: tuple[int, ...]

    def dump(self) -> str:
        """Return the text of the note."""
        return json.dumps([self.name, self.digest, self.dtype, self.shape])

    @classmethod
    def parse(cls, number: int, text: str) -> Self:
        """Read the text of a note of a round."""
        name, digest, dtype, shape = json.loads(text)
        return cls(number, name, digest, dtype, tuple(shape))

    @property
    def call(self) -> str:
        """Call that loads the array, with its type and shape."""
        return f'{LOAD}("{self.name}", "{self.digest}"): {np.dtype(self.dtype)} of shape {self.shape}'


class ExperimentRound(Protocol):
    """Part of a round that its experiments need; `RoundContext` describes the members."""

    context: RunContext
    number: int
    case: LedgerCase
    horizon: int
    memory: Sequence[RoundNote]
    notes: list[RoundNote]
    written: tuple[RoundNote, ...]
    spent: Spent
    experiment_share: float | None

    @property
    def rng(self) -> np.random.Generator:
        """Random generator."""

    @property
    def problem(self) -> Problem:
        """Problem that is searched."""

    @property
    def settings(self) -> Config:
        """Configuration of the run."""

    @property
    def window(self) -> int:
        """Number of rounds at once."""

    @property
    def probe_count(self) -> int:
        """Number of probes that ran so far."""

    def recall(self, kind: str) -> list[RoundNote]:
        """Return the notes of a kind from earlier rounds."""

    def make_view(self, origin: str, parents: Sequence[str]) -> Seen:
        """Return the view that the scorer has of the round."""

    def add_candidate(
        self, source: str, scored: ScoredProgram, parents: Sequence[str], origin: str, call: int | None
    ) -> Candidate:
        """Record a scored program."""


class RoundExperiments:
    """Probes and sweeps of a round."""

    def __init__(self, run: ExperimentRound) -> None:
        self._run, self._context = run, run.context

    @property
    def hooks(self) -> Mapping[str, str]:
        """Hooks of the evaluator by name, with the data that each passes to an observer; may be empty."""
        return self._context.scoring.hooks

    async def probe(
        self, source: str, parents: Sequence[str], call: int | None = None, *, observer: str = ""
    ) -> Candidate:
        """Run a program on a few instances for its output. This costs no evaluation and gives no solution.

        A probe never enters the archive, and never becomes the best, an elite or a parent. The evaluation's ``log``
        holds its output. An equal program can still be evaluated as a solution.

        Arguments, result and errors are those of ``evaluate``. ``observer`` is the text of a program with a function
        ``observe(hook, data)``. The evaluator's ``hooks``, if any, call it, and its output is part of the ``log``.

        A run may make `FREE_PROBES`, and `PROBES_AN_EVALUATION` more for each evaluation of committed rounds. A probe
        has the limits of an evaluation, so the CPU time of all probes is bounded. Further probes are rejected. The
        number does not depend on measured times, so that results do not depend on the number of workers.
        """
        self._run.case.check_may_continue(False)
        limit = FREE_PROBES + PROBES_AN_EVALUATION * self._run.spent.evaluations
        committed = self._context.probes[min(self._run.horizon + 1, len(self._context.probes) - 1)]
        scoring, seen = self._context.scoring, self._run.make_view(PROBE, parents)
        if committed + self._run.probe_count >= limit:
            why = (
                f"no probe is left: {limit} for {self._run.spent.evaluations} evaluations are used; write a new program"
            )
            probed = scoring.reject(f"{source}\n{why}", why)
        else:
            try:
                source = self.pin_arrays(source)
                probed = await self._context.in_time(scoring.probe(source, seen, observer if self.hooks else ""))
            except CandidateError as problem:
                probed = scoring.reject(source, str(problem))
        self._note_arrays(probed.evaluation)
        return self._run.add_candidate(source, probed, parents, PROBE, call)

    @property
    def keeps_arrays(self) -> bool:
        """True if a probe can keep arrays for later programs."""
        return self._context.scoring.keeps_arrays

    def list_arrays(self) -> dict[str, KeptNote]:
        """Return the arrays that probes kept and this branch can load by name; the latest of a name counts."""
        kept = [KeptNote.parse(note.round, note.text) for note in self._array_notes()]
        return {note.name: note for note in kept}

    def _array_notes(self) -> list[RoundNote]:
        return [note for note in (*self._run.memory, *self._run.written, *self._run.notes) if note.kind == ARRAY]

    def pin_arrays(self, source: str) -> str:
        """Return a program whose calls of ``load_array`` name the content that they load.

        Raises:
            CandidateError: It loads an array that no probe kept.
        """
        if not loads_arrays(source) or self._run.problem.signature.language != "python":
            return source
        return pin_references(source, {note.name: note.digest for note in self.list_arrays().values()})

    def _note_arrays(self, evaluation: Evaluation) -> None:
        """Note the arrays that a probe kept, as far as the run may have more."""
        listed = evaluation.metrics.get(KEPT_METRIC)
        if isinstance(listed, dict):
            for name, (digest, dtype, shape) in [*listed.items()][: max(MAX_OF_RUN - len(self._array_notes()), 0)]:
                text = KeptNote(self._run.number, name, digest, dtype, tuple(shape)).dump()
                self._run.notes.append(RoundNote(self._run.number, ARRAY, text))

    @property
    def cpu_s_left(self) -> float:
        """CPU seconds that sweeps and probes on training instances may still use here; infinite without a limit.

        The value depends only on committed rounds and on this round, not on the number of workers.
        """
        each, remaining = self._run.settings.strategy.experiment_s, self._run.experiment_share
        if each is None:
            return math.inf
        if remaining is None:
            committed = sum(float(note.text) for note in self._run.recall(EXPERIMENT_S))
            remaining = (each * (FREE_EXPERIMENTS + self._run.spent.evaluations) - committed) / self._run.window
        return max(0.0, remaining - sum(float(note.text) for note in self._run.notes if note.kind == EXPERIMENT_S))

    def _limit_experiment(self, cpu_s: float) -> float:
        if (remaining := self.cpu_s_left) < MIN_S:
            raise ConfigError(
                "the CPU seconds of this run for sweeps and probes are used up; each evaluation adds some"
            )
        return min(cpu_s, remaining)

    def _count_experiment(self, cpu_s: float) -> None:
        if self._run.settings.strategy.experiment_s is not None:
            self._run.notes.append(RoundNote(self._run.number, EXPERIMENT_S, repr(cpu_s)))

    async def probe_train(
        self, source: str, subset: Subset, cpu_s: float = CPU_S, *, observer: str = ""
    ) -> ProbeResult:
        """Run a program on training instances, as ``run_probe`` does. It costs no evaluation, and every run is stored.

        Raises:
            ConfigError: The training set has no such part, or no CPU seconds are left for experiments.
            CandidateError: A fixed part of the program differs from the seed.
        """
        self._run.case.check_may_continue(False)
        source, subset = fit_to_frame(source, self._run.problem.signature), self._check_subset(subset)
        source = self.pin_arrays(source)
        observer, cpu_s = observer if self.hooks else "", self._limit_experiment(cpu_s)
        result = await self._context.in_time(run_probe(self._measure(PROBE), source, subset, cpu_s, observer))
        self._count_experiment(result.cpu_s)
        return result

    async def sweep(
        self,
        source: str,
        words: Sequence[str],
        subset: Subset,
        cpu_s: float = CPU_S,
        *,
        settings: int = EVOLVED_SETTINGS,
        least: int = 0,
        refit: Refit | None = None,
    ) -> SweepResult:
        """Run a program with other values of its parameters, as ``run_sweep`` does. It costs no evaluation.

        If the evaluator draws practice instances, the better settings are compared on more of them.

        Raises:
            ConfigError: The parameters or instances are invalid, or no CPU seconds are left for sweeps.
            CandidateError: The program has no such parameter.
        """
        self._run.case.check_may_continue(False)
        source, subset = fit_to_frame(source, self._run.problem.signature), self._check_subset(subset)
        source = self.pin_arrays(source)
        axes, seed = read_axes(words, source), int(self._run.rng.integers(1 << 31))
        direction, limit_s = self._run.problem.about.direction, self._limit_experiment(cpu_s)
        key, begun = object(), time.monotonic()

        def notice(ended: int, planned: int, used_s: float) -> None:
            setting = f"setting {ended + 1} of {planned}" if ended < planned else "settings again"
            what = f"sweep, round {self._run.number}: {setting}, {used_s:.0f} of {limit_s:.0f} CPU s"
            self._context.sweeping[key] = RunningJob(what, begun)

        sweeping = run_sweep(
            self._measure("sweep"),
            wait_for_all,
            source,
            axes,
            subset,
            direction,
            cpu_s=limit_s,
            settings=settings,
            seed=seed,
            least=least,
            refit=refit,
            halving=subset.mode == PRACTICE and self._context.scoring.draws_practice,
            notice=notice,
        )
        try:
            result = await self._context.in_time(sweeping)
        finally:
            self._context.sweeping.pop(key, None)
        self._count_experiment(result.cpu_s)
        return result

    def _measure(self, what: str) -> InstanceRunner:
        return partial(self._context.scoring.measure, self._run.make_view(what, []))

    def _check_subset(self, subset: Subset) -> Subset:
        if subset.instances and not self._context.scoring.offers_instances:
            raise ConfigError("this evaluator has no --instances, so all instances of a size run")
        return subset.check(self._run.problem.about.sizes)

    @property
    def instances(self) -> Subset:
        """Name of the instances of sweeps: practice, if evaluator and settings have it; otherwise all of train."""
        practice, size = self._context.scoring.practice, self._run.settings.problem_size
        sizes = () if size is None else (size,)
        if practice is None:
            return Subset()
        return Subset(sizes, str(practice), PRACTICE)
