"""Requirements of a problem: which sentences have a row in the model, which have none, and which have two readings."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from oragent.formulate.prompting import PoolEntry
from oragent.milp.model import Milp

CUE = re.compile(
    r"(?i)"
    r"\b(?:must|has to|have to|needs?|requires?|required|should|wants?|wishe?s?|prefers?|expects?|at (?:most|least)|"
    r"no (?:more|less|fewer)|cannot|can not|may not|never|exceed|up to|exactly|limit(?:ed|s)?|enough|good|fair|"
    r"sufficient|reasonable|as \w+ as possible|only|minimum|maximum)\b"
)
# names what is to be decided, and demands nothing: "we have to say how many trays we pot"
DECISION = re.compile(
    r"(?i)\b(?:has|have|needs?|wants?|must|should|would like)(?: to)? "
    r"(?:say|decide|choose|determine|know|find out|work out|plan) "
    r"(?:how (?:many|much)|which|what|where|when|whether|who)\b"
)
LIST_MARK = re.compile(r"^\s*[-*•–]\s+")
# No sentence ends at an abbreviation, as in "max. 55" or "exp. donors".
SENTENCE = re.compile(
    r"(?<=[!?;])\s+|(?<!\b[Mm]ax\.)(?<!\b[Mm]in\.)(?<!\b[Aa]pprox\.)(?<!\b[Cc]a\.)(?<!\b[Nn]o\.)(?<=\.)\s+(?![a-z])"
    r"|\n\s*\n|\n\s*[-*]\s+"
)
# of the words of the shorter text, from which two texts are the same sentence
SHARE = 0.6
NO_ROW = "no row of the model was found for it"
# status of a reading of a problem that has no solution
NOT_SOLVED = "not solved"
# relative difference of two objectives, up to which they are the same
SAME_OPTIMUM = 1e-6


@dataclass(frozen=True)
class Reading:
    """A sentence with two readings."""

    sentence: str
    # reading of the program
    used: str
    other: str


def find_nonlinearity(parsed: Any) -> str:
    """Return why a formalization calls the problem nonlinear; empty where it does not."""
    if isinstance(parsed, dict):
        text = str(parsed.get("CLASS") or "").strip()
    else:
        text = ""
    if text.lower().startswith("nonlinear"):
        return text
    return ""


def list_readings(parsed: Any) -> list[Reading]:
    """Return the sentences that a formalization reads in two ways: "sentence -- reading used -- other reading"."""
    if isinstance(parsed, dict):
        entries = parsed.get("READINGS")
    else:
        entries = None
    if isinstance(entries, list):
        parts = [str(entry).split(" -- ") for entry in entries if entry]
    else:
        parts = []
    return [Reading(*(part.strip() for part in each)) for each in parts if len(each) == 3]


def has_same_optimum(reading: Mapping[str, Any], objective: float | None) -> bool:
    """Return True if the other reading of a sentence has the optimum of the answer."""
    other = reading["objective"]
    return objective is not None and other is not None and math.isclose(other, objective, rel_tol=SAME_OPTIMUM)


def trace_requirements(
    text: str, pool: Sequence[PoolEntry], milp: Milp | None, row_sentences: Mapping[str, str]
) -> list[tuple[str, str]]:
    """Return the requirements that the model does not have, each with a reason.

    A sentence that demands something counts as modelled if the formalization names it for a row that the model has, or
    for the objective or a bound, or if a check that equals a row cites it.

    Args:
        text: The problem.
        pool: What was said.
        milp: The model; where a problem has none, every row that the formalization names counts.
        row_sentences: Sentence by row, of the checks.
    """
    parsed = [entry.parsed for entry in pool if entry.module == "formalization" and isinstance(entry.parsed, dict)]
    if parsed:
        model = parsed[-1]
    else:
        model = {}
    missing = dict(_split_reasons(model.get("NOT_MODELLED")))
    if not model and not row_sentences:
        return []
    modelled = [*row_sentences.values(), *_modelled_sentences(model, milp)]
    for sentence in SENTENCE.split(text):
        words = _words(sentence)
        if not words or not CUE.search(DECISION.sub("", sentence)) or sentence.strip().endswith("?"):
            continue
        if not any(_is_same(words, _words(other)) for other in (*modelled, *missing)):
            missing[" ".join(LIST_MARK.sub("", sentence).split())] = NO_ROW
    return list(missing.items())


def _modelled_sentences(model: Mapping[str, Any], milp: Milp | None) -> Iterator[str]:
    if milp is not None:
        keys = {plain_key(row.name) for row in milp.rows}
    else:
        keys = set()
    listed = model.get("CONSTRAINTS")
    for entry in map(str, listed if isinstance(listed, list) else ()):
        name, key = entry.partition(":")[0], plain_key(entry.partition(":")[0])
        has_row = milp is None or any(row.startswith(key) or key.startswith(row) for row in keys if row and key)
        if has_row or plain_key(name).startswith(("nonneg", "bound", "domain", "integ", "binar")):
            yield entry.rpartition(" -- ")[2]
    yield str(model.get("OBJECTIVE") or "").rpartition(" -- ")[2]
    variables = model.get("VARIABLES")
    yield from map(str, variables if isinstance(variables, list) else ())


def _split_reasons(entries: Any) -> Iterator[tuple[str, str]]:
    for entry in map(str, entries if isinstance(entries, list) else ()):
        sentence, _, reason = entry.partition(" -- ")
        if sentence := LIST_MARK.sub("", sentence).strip():
            yield sentence, reason.strip() or NO_ROW


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def _is_same(words: set[str], other: set[str]) -> bool:
    shared = len(words & other)
    return min(len(words), len(other)) > 1 and shared >= SHARE * min(len(words), len(other))


def plain_key(name: str) -> str:
    """Return a name in the form in which names of rows are compared."""
    return re.sub(r"[\W_]+", "", name.lower())
