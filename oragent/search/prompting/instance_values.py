"""Sizes, values of single instances and gaps to reference values in prompts."""

from collections.abc import Sequence
from statistics import fmean

from oragent._base.racing import read_instance_values, read_parts, read_references
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


def describe_references(run: RoundContext) -> str:
    """Compare the best score with reference values on the same instances; empty if the evaluator reports none."""
    best = next(iter(best_elites(run)), None)
    if best is None:
        return ""
    sentences = []
    if references := read_references(best.metrics):
        named = ", ".join(f"{name} {value:.6g}" for name, value in references.items())
        sentences.append(f"On the same instances, where the best program scores {best.score:.6g}: {named}.")
    if any(name.startswith("gap_percent_") for name in best.metrics):
        sentences.append("A gap_percent of 0 is the best value that is known for these instances; below 0 beats it.")
    return " ".join(sentences)


def describe_parts(run: RoundContext) -> str:
    """List the parts of the score of the best program by size and instance; empty if the evaluator declares none."""
    best = next(iter(best_elites(run)), None)
    parts = {} if best is None else read_parts(best.metrics)
    lines = [
        f"- size {size}, {name}: mean {fmean(values):.5g}: {_format_values(values)}"
        for size in next(iter(parts.values()), {})
        for name, of_size in parts.items()
        if (values := of_size.get(size))
    ]
    return "\n".join(["Parts of these values, for the best program:", *lines]) if lines else ""
