"""Main function of an ``eval.py`` (arguments, guest, evaluation, result block, exit code), and its hooks.

An evaluator reports events by ``hook("step", ...)`` with plain data. The call does nothing without the option
``--observer FILE``, which needs ``--mode=train``, so hooks never run in evaluations whose score counts. The file
defines ``observe(hook, data)`` and runs in its own guest, like a candidate: it is forked before any data are read,
receives copies, and its answer is discarded. It can therefore pass nothing to the scorer or the candidate. Its output
is appended to the log.
"""

import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from oragent._base.errors import CandidateError, OragentError
from oragent._base.protocol import Failure, Result, Status, format_result
from oragent._base.racing import BY_INSTANCE, PARTS, read_instance_values
from oragent._base.text_format import escape_text, shorten_middle
from oragent.harness.arguments import Arguments, parse_arguments
from oragent.harness.ending import Ending, EvaluatorError, FailureOutput
from oragent.harness.guest import MIN_START_S, Guest, tolerate_failures
from oragent.harness.purity import CallSample, check_purity
from oragent.harness.racing import Outraced, Race, instance_values
from oragent.harness.solutions import Draw, SolutionAlbum
from oragent.harness.startup import OWN_VARIABLES
from oragent.harness.states import State
from oragent.harness.work import reported_work, reset_work
from oragent.sandbox.isolation import kernel
from oragent.sandbox.isolation.environment import restart_without_secrets
from oragent.sandbox.isolation.guest import prepare_confinement

# Function that an observer must define.
OBSERVE = "observe"
# Hook that is called once at the end.
END = "end"
# Wall seconds of one call of an observer, and CPU seconds of all its calls.
CALL_S, ALL_S = 60.0, 30.0
# Maximum number of characters of its output, and of its traceback.
PRINTED, TRACE = 3000, 600


# Option, and metric with the value of each drawn solution.
DRAW, DRAWN = "draw_solutions", "drawn"
# Option, and metric with the number of repeated calls.
CHECK, CHECKED = "check", "checked"
# Maximum number of instance values of an evaluation in a search; they take about 5 kB in the database.
MAX_VALUES = 500


class _Observer:
    """Observer of an evaluation. If it fails, only the observation ends."""

    def __init__(self, guest: Guest, hooks: Sequence[str]) -> None:
        self._guest, self._hooks = guest, hooks
        self._guest.limit_s, self._guest.heuristic_s = CALL_S, ALL_S
        self._problem = ""

    def notify(self, name: str, data: dict[str, Any]) -> None:
        if name not in self._hooks and name != END:
            raise ValueError(f"hook {name!r} is not in the hooks of harness.run: {', '.join(self._hooks)}")
        if self._problem:
            return
        try:
            with tolerate_failures():
                self._guest(name, data)
        except CandidateError as problem:
            trace = f"\n{problem.traceback.strip()[-TRACE:]}" if problem.traceback else ""
            self._problem = f"\nthe observer ended at hook {name!r}: {problem}{trace}"

    @property
    def printed_text(self) -> str:
        text = shorten_middle(self._guest.log.strip(), PRINTED // 2, PRINTED // 2)
        return f"What the observer printed:\n{text or '(nothing)'}{self._problem}\n"


# Observer of this process, which runs one evaluation.
_observer: _Observer | None = None


def hook(name: str, **data: Any) -> None:
    """Report an event to the observer. Without one, as in all scoring, this does nothing.

    Args:
        name: One of the ``hooks`` of ``harness.run``.
        data: Numbers, texts, lists, dicts and arrays, which are copied.

    Raises:
        ValueError: The name is unknown, or the data are not plain.
    """
    if _observer is not None:
        _observer.notify(name, data)


def watching(name: str, **data: Any) -> Callable[..., None] | None:
    """Return ``hook`` with some arguments set, for a solver to call. None without an observer."""
    if _observer is None:
        return None
    return partial(hook, name, **data)


@contextmanager
def start_observer(file: Path | None, hooks: Sequence[str]) -> Iterator[Callable[[], str]]:
    """Start the observer of a file, before data are read.

    Yields:
        Function that returns the output of the observer; empty without one.
    """
    global _observer
    if file is None:
        yield lambda: ""
        return
    with Guest(file, OBSERVE, forgets_project=True) as guest:
        observer = _observer = _Observer(guest, hooks)

        def finish() -> str:
            observer.notify(END, {})
            guest.end()
            return observer.printed_text

        try:
            yield finish
        finally:
            _observer = None


def run(
    evaluate: Callable[[Arguments, Guest], Result],
    *,
    function: str,
    functions: Sequence[str] = (),
    files: Sequence[str] = (),
    sizes: Mapping[str, Sequence[int]],
    state: Callable[..., State] | None = None,
    renew: bool = False,
    flags: Mapping[str, str] | None = None,
    choices: Mapping[str, Sequence[str]] | None = None,
    floor: bool = False,
    hooks: Sequence[str] = (),
    race: bool = False,
    data: bool = False,
    work: bool = False,
    draw: Draw | None = None,
) -> NoReturn:
    """Evaluate the candidate, print the block of the contract, and exit.

    Args:
        evaluate: Function that scores the candidate.
        function: Name of the function that evolves.
        functions: Further functions that evolve with it. They are called by ``guest.of(name)``.
        files: Further files of the candidate.
        sizes: Problem sizes of each mode.
        state: Class of the states that ``Guest.reveal`` creates in the candidate's process.
        renew: True if ``evaluate`` uses ``Guest.renew``.
        flags: The evaluator's own options without a value: name and help text.
        choices: Its own options with a value: names and allowed values, the default first.
        floor: True if ``evaluate`` may end early below ``arguments.floor``, with the metric ``below_floor``.
        hooks: Names for which ``evaluate`` calls ``hook``.
        race: True if ``evaluate`` iterates over its instances by ``each``, so that races and ``--instances`` work.
        data: True if ``evaluate`` reads the instances of named sets from ``arguments.data``.
        work: True if ``evaluate`` multiplies its limits on work by ``arguments.work``, and reports work by ``work``.
        draw: Function ``draw(instance, solution)`` that returns an SVG of the arguments of ``Guest.show``.

    Raises:
        SystemExit: 0 with a result, 1 with a failure, 2 for wrong arguments.
    """
    restart_without_secrets(OWN_VARIABLES)
    if draw is not None:
        flags = {**(flags or {}), DRAW: "draw solutions of the first instances of each size as SVG"}
    flags = {**(flags or {}), CHECK: "then repeat some calls in a fresh process, in another order"}
    arguments = parse_arguments(
        sizes, flags=flags, choices=choices, floor=floor, hooks=bool(hooks), race=race, data=data, work=work
    )
    reset_work()
    kernel.hide_memory()
    prepare_confinement()
    _ask_processor()
    try:
        make = partial(Guest, function=function, functions=functions, files=files, state=state, forgets_project=True)
        fresh_processes = renew or CHECK in arguments.flags
        make_guest = partial(make, fresh_processes=fresh_processes, compiled=arguments.compiled, compiles_apart=True)
        output = FailureOutput()
        outcome = _run_evaluation(evaluate, arguments, make_guest, hooks, draw, output)
    except KeyboardInterrupt:
        sys.exit("interrupted")
    if isinstance(outcome, Failure):
        output.print_failure(outcome)
        sys.exit(1)
    for name, value in outcome.metrics.items():
        if name not in (BY_INSTANCE, PARTS):
            print(f"{escape_text(str(name))}: {escape_text(str(value))}")
    print(f"\n{format_result(outcome)}", flush=True)
    sys.exit(0)


def _ask_processor() -> None:
    """Let PyTorch query the processor now.

    It does so at its first computation, which is not permitted in a guest, so candidates would run without vector
    instructions.
    """
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.backends.cpu.get_cpu_capability()


def _run_evaluation(
    evaluate: Callable[[Arguments, Guest], Result],
    arguments: Arguments,
    make: Callable[[Path], Guest],
    hooks: Sequence[str],
    draw: Draw | None,
    output: FailureOutput,
) -> Result | Failure:
    where = progress = ""
    used: dict[str, Any] = {}
    try:
        with make(arguments.candidate) as guest, start_observer(arguments.observer, hooks) as finish_observer:
            guest.heuristic_s = arguments.heuristic_s
            if arguments.race:
                guest.race = Race(arguments.race)
            else:
                guest.race = None
            guest.instance_range = arguments.instances
            if draw is not None and DRAW in arguments.flags:
                guest.album = SolutionAlbum(draw, len(arguments.sizes))
            try:
                return _score_and_check(evaluate, arguments, guest, output)
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
                where, progress, used = guest.where, guest.progress, _usage(guest)
                printed = guest.log + finish_observer()
                sys.stderr.write(escape_text(printed) if sys.stderr.isatty() else printed)
    except _OutOfTime:
        return Failure(Status.TIMEOUT, f"ran out of time{f' ({where})' if where else ''}{progress}", metrics=used)
    except Outraced as race:
        return Failure(Status.SCREENED, race.stop.reason, metrics=race.stop.metrics)
    except CandidateError as problem:
        return _make_failure(problem, where, used)
    except OragentError as problem:
        # The candidate is not the cause, and the line says all, so no traceback is added.
        return Failure(Status.CRASHED, _locate(problem, where))
    except Exception as problem:
        name = "" if isinstance(problem, EvaluatorError) else f"{type(problem).__name__}: "
        return Failure(Status.CRASHED, f"the evaluator itself failed: {name}{problem}", traceback.format_exc())


def _make_failure(problem: CandidateError, where: str, used: dict[str, Any]) -> Failure:
    """Return the failure of the candidate. How it used its time is part of it if it ran out of time."""
    metrics = used if problem.status is Status.TIMEOUT else {}
    return Failure(problem.status, _locate(problem, where), problem.traceback, metrics)


def _score_and_check(
    evaluate: Callable[[Arguments, Guest], Result], arguments: Arguments, guest: Guest, output: FailureOutput
) -> Result:
    """Evaluate the candidate. With ``--check``, repeat some calls in a fresh process afterwards."""
    sample = CallSample() if CHECK in arguments.flags else None
    guest.sample = sample

    def report(problem: CandidateError, where: str) -> None:
        output.print_failure(_make_failure(problem, where, _usage(guest)))

    with Ending(guest, report):
        _set_alarm(guest)
        result = evaluate(arguments, guest)
    measured = _usage(guest)
    if arguments.work != 1:
        measured |= {"work_factor": arguments.work}
    if arguments.kept_arrays is not None:
        guest.keep_arrays(arguments.kept_arrays)
    if guest.race is not None:
        measured |= guest.race.standing_metrics(result.score)
    if sample is not None:
        measured |= {CHECKED: check_purity(guest, sample), "check_seconds": round(guest.check_s, 3)}
    if guest.album is not None:
        # From here on, no code of the candidate runs.
        guest.end()
        measured |= {DRAWN: guest.album.write(arguments.file_output_prefix)}
    metrics = _with_instances(result, arguments, guest)
    return replace(result, metrics={**metrics, **measured})


def _with_instances(result: Result, arguments: Arguments, guest: Guest) -> dict[str, Any]:
    """Return the metrics of a result. If pages or reports compare instances, add the value of each instance.

    A search stores every evaluation on ``val``, so many values are left out there. A race adds the values itself.
    """
    metrics = {name: value for name, value in result.metrics.items() if name != BY_INSTANCE}
    is_search = arguments.mode == "val"
    if arguments.mode == "train" or (is_search and guest.race is not None):
        return metrics
    values = read_instance_values(result.metrics) or instance_values(guest.values, result.score)
    if not values or (is_search and sum(map(len, values.values())) > MAX_VALUES):
        return metrics
    return metrics | {BY_INSTANCE: values}


def _usage(guest: Guest) -> dict[str, Any]:
    """Return figures of the candidate's calls: CPU seconds, also by size, and the number of calls and instances."""
    used: dict[str, Any] = {"heuristic_seconds": round(guest.heuristic_seconds, 6), "heuristic_calls": guest.call_count}
    if (units := reported_work()) is not None:
        used |= {"work": units}
    if guest.place_seconds:
        used |= {"places_seconds": {place: round(spent, 6) for place, spent in guest.place_seconds.items()}}
    if guest.place_counts:
        used |= {"places_instances": dict(guest.place_counts)}
    if (uncounted_s := round(guest.uncounted_s, 6)) > 0:
        used |= {"uncounted_seconds": uncounted_s}
    if guest.whole_start_s >= MIN_START_S:
        used |= {"start_seconds": round(guest.whole_start_s, 3)}
    if guest.planned_count:
        used |= {"instances_done": guest.done_count, "instances_planned": guest.planned_count}
    if guest.step_progress is not None:
        steps = guest.step_progress
        used |= {
            "instances_in_step": steps.instances,
            "decisions_done": steps.decisions,
            "decisions_planned": steps.planned,
        }
    return used


def _locate(problem: OragentError, where: str) -> str:
    if where and where not in str(problem):
        return f"{problem} ({where})"
    return str(problem)


class _OutOfTime(Exception):
    """Raised when the evaluation's CPU time is nearly used up. The sandbox would end it without a message."""


def _set_alarm(guest: Guest) -> None:
    """Stop the evaluation a little before the sandbox does, to report how the time was used."""
    limit_text = os.environ.get("ORAGENT_TIME_LIMIT_S")
    if not limit_text:
        return
    limit = max(0.1, float(limit_text) * 0.98 - 0.5)

    def check_time(*_: object) -> None:
        if guest.end_cause is not None:
            return
        remaining = limit - time.process_time() - guest.cpu_s - guest.build_s
        if remaining <= 0:
            problem = _OutOfTime()
            if guest.settle is not None:
                guest.settle(problem)
            raise problem
        signal.setitimer(signal.ITIMER_PROF, max(remaining, 0.001))

    guest.look = check_time
    signal.signal(signal.SIGPROF, check_time)
    check_time()
