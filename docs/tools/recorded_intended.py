"""Intended differences of ``recorded_products.py``, by reason, and the masks of what differs from run to run."""

import re
from dataclasses import dataclass

MASKS = (
    (r"\d{8}-\d{6}(-\w+)?", "DATE"),
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(\+00:00|Z)?", "DATE"),
    (r"\b127\.0\.0\.1:\d+", "HOST"),
    (r'(\\*"?\w*(seconds\w*|_s|wall|elapsed|runtime|\btime)\\*"?:? )[\d.e+-]+', r"\1TIME"),
    (r'("elapsed_s", "value": )"[\d.]+"', r"\1TIME"),
    (r"\b\d+(\.\d+)? (s|ms|seconds)\b", "TIME"),
    (r"\b[0-9a-f]{40,64}\b", "HASH"),
    (r"\d+\.\d+\.\d+(\.dev\d+)?(\+g[0-9a-f]+)?(\.d\d+)?", "VERSION"),
)


@dataclass(frozen=True)
class Intended:
    """Pieces that may differ.

    Attributes:
        reason: Why.
        where: Regular expression of the outputs' keys.
        old: Regular expression that the whole piece of the older checkout matches.
        new: Regular expression that the whole piece of the newer checkout matches.
    """

    reason: str
    where: str = ""
    old: str = ""
    new: str = ""

    def explains(self, old: str, new: str) -> bool:
        """Return whether a difference is this one."""
        return all(
            re.fullmatch(pattern, text.strip(), re.DOTALL) for pattern, text in ((self.old, old), (self.new, new))
        )


ANY = ".*"
INTENDED = (
    Intended(
        "formulate and solve print decisions first, as tables that fit the terminal",
        r"^(formulate[\w-]*|solve)/printed|^file formulate.*report\.html",
        ANY,
        ANY,
    ),
    Intended(
        "settings of models and budget are kept in the folder, time limit and gap among them",
        r"(formulate|converse)\.json$",
        r'\s*"?((model|name).*)?',
        r'.*("runtime"|"time_s"|"gap"|"models?"|"budget").*',
    ),
    Intended(
        "the model server is asked for a word before the first call",
        r"table replies$",
        "",
        r".*check\.\d.*Answer with the word OK.*",
    ),
    Intended(
        "calls of tools whose ids repeat get ids of their own",
        r"bakery/run\.db table replies",
        r'.*\\?"1_+\\?".*',
        r'.*\\?"call_\d+\\?".*',
    ),
    Intended(
        "the prompts of compiler and checker name solve(data) and copy no figure",
        r"^file (bf|formulate).*table (cases|replies)|^file bf.*report\.html",
        ANY,
        r".*(`solve`|Read every figure|hours|data\[|tokens|limited|<td).*",
    ),
    Intended(
        "workspace versions are kept before and after each command, with its name; undo names it",
        r"^file (bakery|empty)/run\.db table (versions|changes|contents)|^workspace-(history|undo)/printed",
        ANY,
        ANY,
    ),
    Intended(
        "records of a workspace are bound to their code and data, and written by builds and revisions",
        r"^file bakery/(\.oragent/.*|logs/.*|run\.db table facts)",
        r".*backing.*",
        r".*inputs_sha256.*",
    ),
    Intended(
        "results of a workspace say whether they are proven, and where a draft lies",
        r"^file bakery/run\.db table cases",
        ANY,
        r".*(standing|clashes|draft).*",
    ),
    Intended("the page of a workspace shows the plan and its proof first", r"^file bakery/report\.html", ANY, ANY),
    Intended(
        "a formulation keeps the columns of its variables",
        r"formulate.*run\.db table cases",
        r'.*"seconds\\*": TIME\}\}"',
        r".*columns.*",
    ),
    Intended(
        "the direction of a model is the right one, and its rows belong to the model",
        r"^file workshop/.*report\.html",
        r".*(minimise|cannot be removed).*",
        r".*(maximise|belongs to the model).*",
    ),
)
