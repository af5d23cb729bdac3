"""Sizes, values of single instances and gaps to reference values in prompts."""

from collections.abc import Sequence
from contextlib import suppress
from statistics import fmean

import yaml

from oragent._base.racing import read_instance_values, read_parts, read_references
from oragent._base.safe_load import load_yaml
from oragent.evaluation.noise import read_noise
from oragent.evaluation.problem import Problem
from oragent.search.candidate import Elite
from oragent.search.prompting.prompt_templates import describe_test_limits
from oragent.search.prompting.search_summary import best_elites
from oragent.search.round_context import RoundContext
from oragent.search.store import NOISE

# Number of first instances of a size that are shown.
SHOWN = 12
# Beginning of the metrics with the gap to the best known value at a size, and file of these values.
GAP, REFERENCES = "gap_percent_", "references.yaml"
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
        f"sizes, and of size {_join(later)}. {describe_test_limits(run.problem, run.settings.limits)}"
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
    sentences = [run.context.store.meta(NOISE) or ""]
    if references := read_references(best.metrics):
        named = ", ".join(f"{name} {value:.6g}" for name, value in references.items())
        sentences.append(f"On the same instances, where the best program scores {best.score:.6g}: {named}.")
    if sizes := [name.removeprefix(GAP) for name in best.metrics if name.startswith(GAP)]:
        sentences.append("A gap_percent of 0 is the best value that is known for these instances; below 0 beats it.")
        sentences.append(_describe_best_known(run, sizes))
    return " ".join(filter(None, sentences))


def _describe_best_known(run: RoundContext, sizes: Sequence[str]) -> str:
    """Name the means of the best known values by size; empty if the problem has no readable table of them."""
    with suppress(OSError, yaml.YAMLError, LookupError, TypeError, ValueError):
        table = load_yaml(run.problem.folder / REFERENCES)["sets"]["val"]
        means = ", ".join(f"{float(table[int(size)]['mean']):.6g} at size {size}" for size in sizes)
        return f"The mean of these best values is {means}."
    return ""


def describe_noise(problem: Problem) -> str:
    """Describe the noise that ``oragent check`` measured for a problem; empty if it measured none."""
    noise = read_noise(problem.folder)
    if noise is None:
        return ""
    text = f"The score of the seed varies between sets of instances that are drawn alike by {noise.spread:.2g}"
    if noise.shown is None:
        return f"{text} (standard deviation)."
    percent = f"{100 * noise.shown:.2g} %"
    return f"{text} (standard deviation); on the same instances, differences of less than {percent} can be chance."


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
