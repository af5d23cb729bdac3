"""What every prompt of a run begins with, the same bytes each time, so that servers read it once and charge it once."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from oragent._base.protocol import Status
from oragent.evaluation import Evaluation
from oragent.llm.context import LETTERS_A_TOKEN
from oragent.llm.model import Message
from oragent.search.prompting.hints import program_request
from oragent.search.prompting.templates import fill_template
from oragent.search.prompting.times import CALLS, INSTANCES, PLANNED, round_one_two_five
from oragent.search.round_context import RoundContext


def task_messages(run: RoundContext, text: str) -> list[Message]:
    """The messages of a prompt: the problem, then what is asked."""
    return [system_prompt(run), Message("user", text)]


def system_prompt(run: RoundContext) -> Message:
    """The problem: description, direction, signature, what the function gets, how long it may take."""
    about = run.problem.about
    text = fill_template(
        "task",
        description=run.problem.brief,
        better=about.direction.comparative,
        **program_request(run),
        contract=describe_contract(run),
        limits=describe_limits(run),
    )
    return Message("system", text)


def prompt_tokens_left(run: RoundContext) -> int | None:
    """Tokens that are left to a prompt beside the problem; None where no model's context length is known."""
    if run.room is None:
        return None
    return max(run.room + -len(system_prompt(run).content) // LETTERS_A_TOKEN, 1)


def describe_contract(run: RoundContext) -> str:
    """Describe arguments and result of the function by the docstring of the seed heuristic, if it has one."""
    function, documentation = run.problem.about.function, run.problem.documentation
    return f"\nWhat `{function}` gets and must return:\n{documentation}\n" if documentation else ""


def describe_limits(run: RoundContext) -> str:
    """Describe the time limits of an evaluation and of the function, and the packages."""
    chosen = run.settings.limits
    whole, function_s = run.problem.make_limits(chosen).cpu_s, run.problem.heuristic_s(chosen)
    text = f"\nAn evaluation may take {whole:g} CPU seconds in all"
    text += (
        f", and all calls of the function together {function_s:g} of them.\n"
        if function_s and function_s < whole
        else ".\n"
    )
    packages = _list_names(run.desk.packages)
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
    return f"\nLimits of an evaluation: {'; '.join(parts)}."


def _estimate_calls(metrics: Mapping[str, Any]) -> int:
    """Number of calls that all instances take, in proportion to those that were done; 0 where it is not known."""
    calls, finished, planned = (metrics.get(name) for name in (CALLS, INSTANCES, PLANNED))
    if type(calls) is not int or type(finished) is not int or type(planned) is not int or finished < 1:
        return 0
    return round(round_one_two_five(max(calls * planned / finished, 1.0)))


def _list_names(names: Sequence[str]) -> str:
    return ", ".join(names[:-1]) + f" and {names[-1]}" if len(names) > 1 else "".join(names)


def _python_version() -> str:
    return f"{sys.version_info.major}.{sys.version_info.minor}"
