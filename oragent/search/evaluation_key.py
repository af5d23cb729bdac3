"""Keys of evaluations: which program was run, and how.

The text of a key is the ``fingerprint`` of a row in the table ``evaluations`` of ``run.db``.
"""

import hashlib
import json
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Self


class EvaluationKind(StrEnum):
    """Kind of evaluation of a program."""

    # on all of val
    SCORE = "score"
    # on train, as the first stage of a cascade
    TRAIN = "train"
    # at one size of val
    SIZE = "size"
    # on val, ended early where a score is out of reach
    FLOOR = "floor"
    # on val, ended early where elites are out of reach
    RACE = "raced"
    # result of a program that was not good enough to be scored on all of val
    SCREENED = "screened"
    # for what it prints
    PROBE = "probe"
    # on training or practice instances; costs no evaluation
    EXPERIMENT = "experiment"
    # of a few instances, with calls repeated in a fresh process
    CHECK = "check"
    # result of a program that failed its check
    IMPURE = "impure"

    @property
    def text_range(self) -> tuple[str, str]:
        """First text of a key of a kind whose texts begin with its name, and the first one after them, for SQLite."""
        if self not in PLAIN:
            raise ValueError(f"keys of {self} cannot be recognized by their text.")
        # "!" follows the space
        return f"{self} ", f"{self}!"


# others are hashes
PLAIN = (EvaluationKind.RACE, EvaluationKind.EXPERIMENT, EvaluationKind.CHECK)


@dataclass(frozen=True)
class EvaluationKey:
    """Key under which an evaluation is stored."""

    # fingerprint of the program
    program: str
    # kind of evaluation
    kind: EvaluationKind = EvaluationKind.SCORE
    # conditions of the evaluation beyond its kind; empty without any
    terms: str = ""
    # text of a program that watches this one; empty: none
    observer: str = ""

    def __str__(self) -> str:
        if self.kind is EvaluationKind.SCORE:
            return self.program
        if self.kind is EvaluationKind.EXPERIMENT:
            return " ".join(filter(None, (self.kind, self.program, self.terms)))
        text = " ".join(filter(None, (self.kind, self.terms, self.program, self.observer)))
        if self.kind in PLAIN:
            return text
        return _hash_text(text)

    @classmethod
    def of_race(cls, program: str, terms: str) -> Self:
        """Key of a program's race, under terms as ``RaceTerms.dumps`` writes them."""
        return cls(program, EvaluationKind.RACE, _hash_text(terms)[:16])

    @classmethod
    def of_experiment(cls, program: str, size: int | None, instances: str, observer: str, mode: str = "train") -> Self:
        """Key of an experiment at one size, or at all of the mode; ``instances`` as the option has them, empty: all."""
        terms = [program, size, instances, observer, *([] if mode == "train" else [mode])]
        return cls(_hash_text(json.dumps(terms)), EvaluationKind.EXPERIMENT)

    def within(self, cpu_s: float) -> Self:
        """Key of an experiment that ran out of time within a limit, in CPU seconds."""
        return replace(self, terms=f"within {cpu_s!r} s")


def ended_race_text(fingerprint: str) -> str:
    """Return the text that records that the program of a candidate, or of its race, was ended early under any terms."""
    return str(EvaluationKey(fingerprint.rpartition(" ")[2], EvaluationKind.RACE))


def impure_text(program: str) -> str:
    """Return the fingerprint of a candidate that failed its check; earlier rounds do not know it."""
    return str(EvaluationKey(program, EvaluationKind.IMPURE))


def screened_text(program: str) -> str:
    """Return the fingerprint of a candidate that was screened; its program may pass in another round."""
    return str(EvaluationKey(program, EvaluationKind.SCREENED))


def _hash_text(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()
