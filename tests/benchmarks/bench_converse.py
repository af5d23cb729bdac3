"""What conversations cost: enumeration, a tool call with a solve, hundreds of conversations by rules, a page.

Times are CPU seconds; ``bench_converse.py`` prints a table and fails where a figure is missed.
"""

import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from rich.console import Console  # noqa: E402

from oragent.llm.model import ToolCall  # noqa: E402
from oragent_benchmarks.converse.command import ConverseBenchRequest, run_bench  # noqa: E402
from oragent_benchmarks.converse.problems.district import SFUSD  # noqa: E402
from oragent_benchmarks.converse.problems.exact import enumerate_schedules  # noqa: E402
from oragent_benchmarks.converse.problems.schools import sfusd  # noqa: E402
from oragent_benchmarks.converse.solving import StateSolver, begin, by_milp  # noqa: E402
from oragent_benchmarks.converse.state import Restriction, RestrictionKind  # noqa: E402
from oragent_benchmarks.converse.tools import Toolbox  # noqa: E402

ENUMERATION_S, CALL_MS, CONVERSATIONS_S, PAGE_MB = 0.2, 60.0, 180.0, 5.0
CALLS, RULES = 60, 4


def cpu(work: Callable[[], object]) -> float:
    """CPU seconds of something."""
    begun = time.process_time()
    work()
    return time.process_time() - begun


def states(count: int) -> list[list[Restriction]]:
    """Requests at random: one or two fixings and a bound."""
    problem, rng = sfusd(), np.random.default_rng(0)
    schools, times = [school.name for school in SFUSD.schools], problem.vocabulary.options
    return [
        [
            Restriction(RestrictionKind.FIX, str(rng.choice(schools)), str(rng.choice(times))),
            Restriction(RestrictionKind.FIX, str(rng.choice(schools)), str(rng.choice(times))),
            Restriction(RestrictionKind.BOUND, "schedule_deviation", relation="<=", value=float(rng.integers(12, 40))),
        ]
        for _ in range(count)
    ]


def call_ms(model: bool) -> float:
    """Median milliseconds of a tool call with a solve: of the tool itself, or of the solver in its place."""
    problem = sfusd()
    tools = Toolbox(StateSolver(problem), extended=True)
    took = []
    for asked in states(CALLS):
        tools.state = begin(problem)
        for one in asked:
            tools.add(one)
        work = (lambda: by_milp(problem, tools.state)) if model else (lambda: tools(ToolCall("1", "call_solver", {})))
        took.append(1000 * cpu(work))
    return statistics.median(took)


def conversations() -> tuple[float, int, float, float]:
    """Seconds and number of conversations by rules with their pages, megabytes of the page, growth of memory."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        request = ConverseBenchRequest(
            out, "sfusd", ("rules",), ("default", "one-shot", "aware", "conversation"), utilities="all",
            settings={"decider": "rational"},
        )  # fmt: skip
        seconds = cpu(lambda: run_bench(request, Console(quiet=True)))
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        return seconds, RULES * 161, (out / "report.html").stat().st_size / 1e6, grown


def main() -> int:
    """Measure, print, and say whether every figure is met."""
    enumerate_schedules.cache_clear()
    seconds = cpu(lambda: enumerate_schedules(SFUSD))
    by_tool, by_solver = call_ms(False), call_ms(True)
    took, count, page, grown = conversations()
    rows = [
        ("enumeration of 59,049 schedules, s", seconds, ENUMERATION_S),
        ("tool call with solve, median ms", by_tool, CALL_MS),
        ("the same by HiGHS, median ms", by_solver, CALL_MS),
        (f"{count} conversations by rules with pages, s", took, CONVERSATIONS_S),
        ("page of these conversations, MB", page, PAGE_MB),
        ("memory that they added, MB", grown, 300.0),
    ]
    for name, value, most in rows:
        print(f"{name:50s} {value:8.3f}  (at most {most:g})")
    return int(any(value > most for _, value, most in rows))


if __name__ == "__main__":
    sys.exit(main())
