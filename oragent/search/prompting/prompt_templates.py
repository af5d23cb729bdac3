"""Common parts of all prompts of a run: the problem, requests for programs, times and templates.

All prompts of a run begin with the same bytes, so that servers can cache them and charge less. ``strategy.blocks`` and
``strategy.features`` select the hints. Times are shown in coarse steps (`oragent.search.coarse_times`). They come from
the first evaluation of a program; a replay uses the recorded times. Templates are the text files of
``search/prompts``. ``NAME.STYLE.txt`` is the wording for models of a style, if it differs from ``NAME.txt``.
"""

import math
import sys
from collections.abc import Mapping
from typing import Any

from oragent._base.protocol import COMPILE_S, Status
from oragent.evaluation import Evaluation
from oragent.evaluation.capabilities import HELD_OUT_LIMIT_FACTOR
from oragent.evaluation.problem import CandidateInput, LimitSettings, Problem
from oragent.llm.dialogue import LETTERS_A_TOKEN
from oragent.llm.model import Message
from oragent.programs.inspection import inspect_program
from oragent.search.candidate import Elite
from oragent.search.coarse_times import MIN_SHOWN_S, describe_seconds, round_coarsely
from oragent.search.experiments import PLACES, START
from oragent.search.round_context import RoundContext

# Metric of the harness: CPU seconds of all calls.
TOTAL = "heuristic_seconds"
# Times from this many seconds are shown by size.
DETAILED_S = 1.0
# Metrics of the harness that are shown with the time.
CALLS, INSTANCES = "heuristic_calls", "instances_done"
# Metric of the harness: number of instances of the whole evaluation.
PLANNED = "instances_planned"
# Metrics of the harness about instances that advance in step and were unfinished at the time limit.
IN_STEP, DECIDED, DECISIONS = "instances_in_step", "decisions_done", "decisions_planned"
# A size is shown as the slowest if it takes at least this share of the time.
MIN_DOMINANT_SHARE = 0.5

LANGUAGES = {"python": "Python", "cpp": "C++"}
# Effects that programs must not have, by the place of their input.
EFFECTS = {
    CandidateInput.ARGUMENTS: "no files, no printing",
    CandidateInput.FILES: "no other files than those that they name, no printing",
    CandidateInput.STREAMS: "no input but standard input, no files",
}
# Up to this number of characters, small models get each program whole.
MAX_REPEATED = 1500
# A program with this multiple of the seed's nodes counts as far from the seed.
LEFT_BEHIND = 3.0
# A seed counts as having at least this many nodes.
MIN_SEED_NODES = 40


def describe_times(metrics: Mapping[str, Any]) -> str:
    """Describe the time of the function and its slowest part; empty if the evaluator does not report it."""
    total = metrics.get(TOTAL)
    if isinstance(total, bool) or not isinstance(total, int | float) or not math.isfinite(total):
        return ""
    if round_coarsely(total) < DETAILED_S:
        longest = _describe_longest(metrics.get(PLACES), total) if total >= MIN_SHOWN_S else ""
        return f"{describe_seconds(total)}{_describe_calls(metrics)}{longest}"
    return f"{describe_seconds(total)}{_describe_calls(metrics)}{describe_places(metrics)}"


def seconds_of(metrics: Mapping[str, Any]) -> str:
    """Return the time of the function for a list of programs, beginning with a semicolon; empty if short or unknown."""
    total = metrics.get(TOTAL)
    if isinstance(total, int | float) and round_coarsely(total) >= DETAILED_S:
        return f"; {describe_seconds(total)}"
    return ""


def _describe_calls(metrics: Mapping[str, Any]) -> str:
    parts = [
        f"{word} {metrics[name]:,} {noun}"
        for name, word, noun in ((CALLS, "in", "calls"), (INSTANCES, "on", "instances"))
        if type(metrics.get(name)) is int
    ]
    if parts:
        return f" {' '.join(parts)}"
    return ""


def describe_places(metrics: Mapping[str, Any]) -> str:
    """Return the time of imports and compilation, and at each size, in brackets; it begins with a space.

    It is empty for a single size with a short start.
    """
    places, start = metrics.get(PLACES), metrics.get(START)
    times = places if isinstance(places, dict) else {}
    spent = [
        f"{str(name)[:40]} {describe_seconds(value)}" for name, value in times.items() if isinstance(value, int | float)
    ]
    if isinstance(start, int | float) and not isinstance(start, bool) and math.isfinite(start):
        calls = f"; calls: {', '.join(spent)}" if spent else ""
        return f" (import and compilation, which do not count: {describe_seconds(start)}{calls})"
    if len(spent) > 1:
        return f" ({'; '.join(spent)})"
    return ""


def round_one_two_five(value: float) -> float:
    """Round a positive value to 1, 2 or 5 times a power of ten, the nearest by ratio."""
    power = 10.0 ** math.floor(math.log10(value))
    nearest = min((1.0, 2.0, 5.0, 10.0), key=lambda step: abs(math.log(step * power / value)))
    return float(f"{nearest * power:.3g}")


def _describe_longest(places: Any, total: float) -> str:
    times = places if isinstance(places, dict) and len(places) > 1 else {}
    spent = {str(name): value for name, value in times.items() if isinstance(value, int | float)}
    name = max(spent, key=lambda part: spent[part], default="")
    if spent and spent[name] > MIN_DOMINANT_SHARE * total:
        return f", most of it at {name[:40]}"
    return ""


def blocks_hint(run: RoundContext, parent: Elite | None = None) -> str:
    """Return a sentence that names building blocks of the problem; empty if none are shown.

    They are not shown if the parent is much longer than the seed.
    """
    if parent is not None and parent.length > LEFT_BEHIND * max(
        inspect_program(run.problem.seed, run.problem.signature).length, MIN_SEED_NODES
    ):
        return ""
    named = ", ".join(f"`{block}`" for block in run.blocks())
    if named:
        return f"Building blocks that may help: {named}."
    return ""


def program_request(run: RoundContext) -> dict[str, str]:
    """Describe the requested program: its language, its signature, and effects that it must not have."""
    signature, effects = run.problem.signature, EFFECTS[run.problem.about.input]
    return {"signature": signature.shown, "language": LANGUAGES[signature.language], "effects": effects}


def shows_changes(run: RoundContext, text: str) -> bool:
    """Return True if other programs are shown as changes of this one; small models read changes of short ones badly."""
    return run.style == "strong" or len(text) > MAX_REPEATED


def bin_names(run: RoundContext) -> list[str]:
    """Return the features whose bins prompts show; empty if they show none."""
    if run.settings.strategy.features:
        return [feature.name for feature in run.problem.about.features]
    return []


def edits_request(run: RoundContext, base: str, first_line: str = "") -> str:
    """Ask for edits of a program that the prompt shows; the example edits its last line or another one."""
    return "\n\n" + run.fill_template("answer_edits", run.style, line=first_line or base.rstrip().split("\n")[-1])


def bin_meanings(run: RoundContext) -> str:
    """Explain the bins, one line each after a blank line; empty if prompts do not show them."""
    features = run.problem.about.features if run.settings.strategy.features else ()
    lines = [f"Bins of {feature.name}: {feature.meaning}." for feature in features if feature.meaning]
    if lines:
        return "\n".join(["\n", *lines])
    return ""


def task_messages(run: RoundContext, text: str) -> list[Message]:
    """Return the messages of a prompt: the problem, then the request."""
    return [system_prompt(run), Message("user", text)]


def system_prompt(run: RoundContext) -> Message:
    """Return the message about the problem: description, direction, signature, arguments and time limits."""
    about = run.problem.about
    text = run.fill_template(
        "task",
        description=run.problem.brief,
        better=about.direction.comparative,
        **program_request(run),
        contract=describe_contract(run),
        limits=describe_limits(run),
    )
    return Message("system", text)


def prompt_tokens_left(run: RoundContext) -> int | None:
    """Return the number of tokens for the request after the problem; None if no context length is known."""
    if run.room is None:
        return None
    return max(run.room + -len(system_prompt(run).content) // LETTERS_A_TOKEN, 1)


def describe_contract(run: RoundContext) -> str:
    """Describe arguments and result of the function with the docstring of the seed heuristic, if it has one."""
    function, documentation = run.problem.about.function, run.problem.documentation
    if documentation:
        return f"\nWhat `{function}` gets and must return:\n{documentation}\n"
    return ""


def describe_time_limits(problem: Problem, limits: LimitSettings) -> str:
    """Describe the time limits of an evaluation and of the function."""
    whole, function_s = problem.make_limits(limits).cpu_s, problem.heuristic_s(limits)
    text = f"An evaluation may take {whole:g} CPU seconds in all"
    if not function_s or function_s >= whole:
        return f"{text}."
    return (
        f"{text}, and all calls of the function together {function_s:g} of them. Compilation by Numba is not counted: "
        f"another process compiles the program first, for at most {COMPILE_S:g} CPU seconds."
    )


def describe_test_limits(problem: Problem, limits: LimitSettings) -> str:
    """Describe the time limits of an evaluation on ``test``."""
    whole = problem.make_limits(limits, HELD_OUT_LIMIT_FACTOR, "test").cpu_s
    function_s = problem.heuristic_s(limits, HELD_OUT_LIMIT_FACTOR, "test")
    text = f"On test, an evaluation may take {whole:g} CPU seconds"
    if not function_s or function_s >= whole:
        return f"{text}."
    return f"{text}, {function_s:g} of them in the function."


def describe_limits(run: RoundContext) -> str:
    """Describe the time limits of an evaluation and of the function, and the packages."""
    text = f"\n{describe_time_limits(run.problem, run.settings.limits)}\n"
    names = run.context.packages
    packages = ", ".join(names[:-1]) + f" and {names[-1]}" if len(names) > 1 else "".join(names)
    tells = packages and run.problem.signature.language == "python"
    return text + (f"Programs may import {packages}, in Python {_python_version()}.\n" if tells else "")


def describe_exceeded_limits(run: RoundContext, result: Evaluation) -> str:
    """Describe the limits of an evaluation that ran out of time or memory; empty for another result."""
    if result.status not in (Status.TIMEOUT, Status.MEMORY):
        return ""
    whole, function_s = run.problem.make_limits(run.settings.limits), run.problem.heuristic_s(run.settings.limits)
    parts = []
    if function_s and function_s < whole.cpu_s:
        calls = _estimate_calls(result.metrics)
        each = f", which is about {function_s / calls:.2g} s for each of about {calls:,} calls" if calls else ""
        parts.append(f"{function_s:g} CPU seconds for all calls of the function together{each}")
    parts += [f"{whole.cpu_s:g} CPU seconds in all", f"{whole.memory_mb:,} MiB of memory in each process"]
    spent = describe_places(result.metrics)
    return f"\nLimits of an evaluation: {'; '.join(parts)}." + (f"\nTime of the function{spent}." if spent else "")


def _estimate_calls(metrics: Mapping[str, Any]) -> int:
    """Estimate the number of calls on all instances from the calls so far; 0 if unknown."""
    calls, share = metrics.get(CALLS), finished_share(metrics)
    if type(calls) is not int or not share:
        return 0
    return round(round_one_two_five(max(calls / share, 1.0)))


def finished_share(metrics: Mapping[str, Any]) -> float | None:
    """Return the share of the instances that an evaluation finished; None if the evaluator does not report it.

    An instance that advanced in step when the evaluation ended counts with its share of decisions.
    """
    finished, planned = metrics.get(INSTANCES), metrics.get(PLANNED)
    if type(finished) is not int or type(planned) is not int or planned <= 0:
        return None
    in_step, decided, decisions = (metrics.get(name) for name in (IN_STEP, DECIDED, DECISIONS))
    if type(in_step) is int and type(decided) is int and type(decisions) is int and decisions > 0:
        return (finished + in_step * decided / decisions) / planned
    return finished / planned


def _python_version() -> str:
    return f"{sys.version_info.major}.{sys.version_info.minor}"
