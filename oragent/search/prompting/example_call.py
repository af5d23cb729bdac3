"""An example of the arguments of the function in numbers, for the prompts of strong models.

The seed heuristic runs on one training instance, in a copy that also prints the arguments of two calls: the first one,
which belongs to the first instance, and a later one, because functions that make one decision get little at first.
"""

from contextlib import suppress

from oragent._base.errors import CandidateError, ConfigError
from oragent._base.text_format import shorten
from oragent.search.experiments import Subset
from oragent.search.round_context import RoundContext

# Largest number of characters of the text.
MAX_CHARACTERS = 1800
# Marks of the printed text.
BEGIN, END = "<<example>>", "<</example>>"
_PRINTER = """


def _make_printer(function):
    import inspect

    import numpy

    names, count = list(inspect.signature(function).parameters), [0]

    shown = set()

    def describe(value):
        text = write(value)
        if text in shown and len(text) > 80:
            return "as in the call before"
        shown.add(text)
        return text

    def write(value):
        array = numpy.asarray(value)
        if array.dtype.kind not in "biuf":
            return repr(value)[:200]
        if array.ndim == 0:
            return f"{value:.6g}" if array.dtype.kind == "f" else str(value)
        text = numpy.array2string(array, precision=4, threshold=60, edgeitems=4, max_line_width=150)
        return f"{type(value).__name__} of shape {array.shape}:\\n{text[:600]}"

    def printer(*args, **kwargs):
        count[0] += 1
        if count[0] in (1, 30):
            told = [(names[at] if at < len(names) else "", value) for at, value in enumerate(args)]
            lines = "\\n".join(f"{name} = {describe(value)}" for name, value in (*told, *kwargs.items()))
            print(f"BEGIN{'first call' if count[0] == 1 else 'call 30'}:\\n{lines}\\nEND", flush=True)
        return function(*args, **kwargs)

    return printer


FUNCTION = _make_printer(FUNCTION)
"""


def printing_copy(source: str, function: str) -> str:
    """Return a program that also prints the arguments of the first and the 30th call of a function."""
    return source + _PRINTER.replace("FUNCTION", function).replace("BEGIN", BEGIN).replace("END", END)


async def describe_example(run: RoundContext) -> str:
    """Return the arguments of two calls of the seed on a training instance; empty if they cannot be printed.

    The run is stored like any experiment, so it happens once and a replay takes it over.
    """
    signature, sizes = run.problem.signature, run.problem.about.sizes.get("train", ())
    if signature.language != "python" or signature.files or signature.frame or not sizes:
        return ""
    with suppress(ConfigError, CandidateError):
        text = printing_copy(run.problem.seed, signature.function)
        printed = (await run.experiments.probe_train(text, Subset((min(sizes),), "1"))).output
        calls = [part.partition(END)[0].strip() for part in printed.split(BEGIN)[1:]]
        if calls:
            text = shorten("\n".join(calls), MAX_CHARACTERS)
            return f"What the function gets on a training instance of size {min(sizes)}, in numbers:\n{text}"
    return ""
