"""Experiments outside a search: ``oragent probe``, ``oragent sweep`` and their Python functions."""

import asyncio
from collections.abc import Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from oragent._base.errors import ProblemError
from oragent.evaluation import Evaluation, EvaluationRunner
from oragent.evaluation.capabilities import HEURISTIC_S, INSTANCES, OBSERVER, evaluator_arguments, find_options
from oragent.evaluation.devices import pin_device
from oragent.evaluation.hardening import CASE_S, HardenedProgram, harden_program, harden_selection
from oragent.evaluation.job import share_compiled
from oragent.evaluation.pool import JobPool
from oragent.evaluation.problem import LimitSettings, Problem
from oragent.ledger.case import wait_for_all
from oragent.programs.kept_arrays import contract_references, expand_references
from oragent.search.experiments import (
    AT_ONCE,
    CPU_S,
    EVOLVED_SETTINGS,
    PRACTICE,
    VAL,
    ProbeResult,
    Subset,
    SweepResult,
    read_axes,
    run_probe,
    run_sweep,
)

T = TypeVar("T")
NO_PRACTICE = "its evaluator has no mode practice; leave --practice out to use those of train"


class ExperimentRunner:
    """Context manager that runs probes and sweeps of a problem; results do not depend on ``workers``."""

    def __init__(
        self,
        problem: Problem,
        root: Path,
        *,
        workers: int = 1,
        device: str = "auto",
        settings: LimitSettings | None = None,
    ) -> None:
        self._problem, self._root = problem, root
        settings = settings or LimitSettings()
        self._runner = EvaluationRunner(min(workers, AT_ONCE))
        self._pool = JobPool(min(workers, AT_ONCE), self._runner)
        try:
            self._offers = find_options(problem, root, self._runner)
        except BaseException:
            self._runner.close()
            raise
        self._limits = problem.make_limits(settings)
        self._options = evaluator_arguments(problem, settings, self._offers, device=pin_device(device, problem).device)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.close()
        self._runner.close()

    def probe(self, source: str, subset: Subset, cpu_s: float = CPU_S, observer: str = "") -> ProbeResult:
        """Run a program on training instances (`run_probe`)."""
        if observer and OBSERVER not in self._offers:
            raise ProblemError(f"{self._problem.name} has no {OBSERVER}, because its evaluator has no hooks")
        return run_to_end(run_probe(self._measure, source, self._check(subset), cpu_s, observer))

    def sweep(
        self,
        source: str,
        words: Sequence[str],
        subset: Subset,
        cpu_s: float = CPU_S,
        settings: int = EVOLVED_SETTINGS,
        seed: int = 0,
    ) -> SweepResult:
        """Run a program with other values of its parameters (`run_sweep`, `read_axes`)."""
        full, (source, arrays) = source, contract_references(source)
        axes, subset, direction = read_axes(words, source), self._check(subset), self._problem.about.direction

        async def measure(text: str, size: int | None, subset: Subset, cpu_s: float, observer: str) -> Evaluation:
            return await self._measure(expand_references(text, arrays.get), size, subset, cpu_s, observer)

        sweeping = run_sweep(
            measure, wait_for_all, source, axes, subset, direction, cpu_s=cpu_s, settings=settings, seed=seed
        )
        return replace(run_to_end(sweeping), source=full)

    def harden(self, source: str, limit_s: float = CASE_S) -> HardenedProgram:
        """Run a program with unusual arguments (`harden_program`)."""
        return run_to_end(harden_program(self._measure_text, self._problem, source, limit_s))

    async def _measure_text(self, source: str, cpu_s: float | None) -> Evaluation:
        limits = replace(self._limits, cpu_s=cpu_s or self._limits.cpu_s)
        mode, options = harden_selection(self._problem, self._offers)
        arguments = tuple(word for word in self._options if not word.startswith(HEURISTIC_S))
        job = self._problem.make_job(source, self._root, limits, mode, arguments=(*arguments, *options))
        return await self._pool.evaluate(job)

    async def _measure(self, source: str, size: int | None, subset: Subset, cpu_s: float, observer: str) -> Evaluation:
        limits = replace(self._limits, cpu_s=min(self._limits.cpu_s, cpu_s))
        job = self._problem.make_job(
            source, self._root, limits, subset.mode, size, (*self._options, *subset.arguments), observer
        )
        # On val, each program compiles itself, as in a search.
        return await self._pool.evaluate(job if subset.mode == VAL else share_compiled(job, self._offers))

    def _check(self, subset: Subset) -> Subset:
        if subset.instances and INSTANCES not in self._offers:
            raise ProblemError(f"{self._problem.name} has no {INSTANCES}, so all instances of a size run")
        if subset.mode == PRACTICE and PRACTICE not in self._offers:
            raise ProblemError(f"{self._problem.name} has no practice instances: {NO_PRACTICE}")
        return subset.check(self._problem.about.sizes)


def run_to_end(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end. If this thread has an event loop, as in a notebook, use another thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()
