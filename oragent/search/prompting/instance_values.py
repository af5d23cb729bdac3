"""Sizes, values of single instances and gaps to reference values in prompts."""

from collections.abc import Mapping, Sequence

from oragent._base.racing import read_instance_values
from oragent.evaluation.capabilities import HELD_OUT_LIMIT_FACTOR
from oragent.search.candidate import Elite
from oragent.search.prompting.search_summary import best_elites
from oragent.search.round_context import RoundContext

# Number of first instances of a size that are shown.
SHOWN = 12
# Modes in which a program is measured after the search.
LATER = ("test", "fresh")


def describe_sizes(run: RoundContext) -> str:
    """Name the sizes that are scored, and those on which the best program is measured later. May be empty."""
    sizes = run.problem.about.sizes
    scored = [run.settings.problem_size] if run.settings.problem_size else sizes.get("val", [])
    later = sorted({size for mode in LATER for size in sizes.get(mode, [])} - set(scored))
    if not scored or not later or run.settings.problem_size:
        return ""
    return (
        f"Scored are instances of size {_join(scored)}; the best program is measured later on other instances of these "
        f"sizes, and of size {_join(later)}. All time limits are {HELD_OUT_LIMIT_FACTOR:g} times as long there."
    )


def describe_remaining(run: RoundContext) -> str:
    """Say how many evaluations and minutes of the clock are left, as far as they are limited."""
    bounds, spent = run.settings.budget, run.moment.spent
    parts = []
    if bounds.evaluations is not None:
        count = max(bounds.evaluations - spent.evaluations, 0)
        parts.append("1 evaluation" if count == 1 else f"{count} evaluations")
    if bounds.seconds is not None:
        # The time of the last commit is recorded, so a resumed run writes the same prompt.
        elapsed_s = max((record.elapsed_s for record in run.history), default=0.0)
        minutes = max(bounds.seconds - elapsed_s, 0.0) / 60
        parts.append(f"about {minutes:.0f} minutes of the clock, which also runs while you write")
    return f"The remaining budget is {' and '.join(parts)}." if parts else ""


def describe_instances(run: RoundContext, parent: Elite | None) -> str:
    """List values of the first instances of each size for the best program and for the parent; may be empty."""
    best = next(iter(best_elites(run)), None)
    if best is None:
        return ""
    programs = {"best": best}
    if parent is not None and parent.source != best.source:
        programs = {"program to change": parent, "best": best}
    values = {name: read_instance_values(elite.metrics) or {} for name, elite in programs.items()}
    if not all(values.values()):
        return ""
    lines = [
        f"- size {size}, {name}: {_format_values(of_size[size])}"
        for size in next(iter(values.values()))
        for name, of_size in values.items()
        if size in of_size
    ]
    return "\n".join(["Values of the first instances of each size, in their order:", *lines])


def _format_values(values: Sequence[float]) -> str:
    text = ", ".join(f"{value:.5g}" for value in values[:SHOWN])
    more = len(values) - SHOWN
    if more > 0:
        return f"{text}, and {more} more"
    return text


def _join(sizes: Sequence[int]) -> str:
    return ", ".join(map(str, sizes))


def describe_bound(metrics: Mapping[str, object]) -> str:
    """Explain the reference of a gap in percent, if the evaluator reports one; otherwise return an empty text."""
    if any(str(name).startswith("gap_percent_") for name in metrics):
        return "A gap_percent of 0 is the best value that is known for these instances; below 0 beats it."
    return ""
