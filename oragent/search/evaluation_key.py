"""Keys of stored evaluations: the program and the kind of its evaluation.

The text of a key is stored as ``fingerprint`` in the table ``evaluations`` of ``run.db``.
"""

import hashlib
import json
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Self


class EvaluationKind(StrEnum):
    """Kind of evaluation of a program."""

    # Score on all of val.
    SCORE = "score"
    # Score on train, the first stage of a cascade.
    TRAIN = "train"
    # Score at one size of val, to decide whether the others are run.
    SIZE = "size"
    # Run on val that ends early if a score is out of reach.
    FLOOR = "floor"
    # Run on val that ends early if the elites are out of reach.
    RACE = "raced"
    # Result of a program that was not good enough to be scored on all of val.
    SCREENED = "screened"
    # Run for its printed output.
    PROBE = "probe"
    # Run on training or practice instances, which costs no evaluation.
    EXPERIMENT = "experiment"
    # Run on a few instances, with calls repeated in a fresh process.
    CHECK = "check"
    # Run with unusual arguments.
    HARDEN = "harden"
    # Score on a protected set.
    SET = "set"
    # Score on all of val with more work.
    WORK = "work"
    # Result of a program that failed its check.
    IMPURE = "impure"

    @property
    def text_range(self) -> tuple[str, str]:
        """Return the first text of keys of this kind and the first text after them, for a range query in SQLite."""
        if self not in PLAIN:
            raise ValueError(f"keys of {self} cannot be recognized by their text.")
        # "!" is the character after the space.
        return f"{self} ", f"{self}!"


# Kinds whose keys are readable texts. Keys of other kinds are hashes.
PLAIN = (EvaluationKind.RACE, EvaluationKind.EXPERIMENT, EvaluationKind.CHECK)


@dataclass(frozen=True)
class EvaluationKey:
    """Key under which an evaluation is stored."""

    # Fingerprint of the program.
    program: str
    # Kind of evaluation.
    kind: EvaluationKind = EvaluationKind.SCORE
    # Further conditions of the evaluation; empty without any.
    terms: str = ""
    # Text of an observer program; empty without one.
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
        """Return the key of a program's race; ``terms`` is the text of ``RaceTerms.dumps``."""
        return cls(program, EvaluationKind.RACE, _hash_text(terms)[:16])

    @classmethod
    def of_experiment(cls, program: str, size: int | None, instances: str, observer: str, mode: str = "train") -> Self:
        """Return the key of an experiment at one size, or at all sizes of the mode.

        ``instances`` has the form of the option; empty means all.
        """
        terms = [program, size, instances, observer, *([] if mode == "train" else [mode])]
        return cls(_hash_text(json.dumps(terms)), EvaluationKind.EXPERIMENT)

    def within(self, cpu_s: float) -> Self:
        """Return the key of an experiment that exceeded a limit in CPU seconds."""
        return replace(self, terms=f"within {cpu_s!r} s")


def ended_race_text(fingerprint: str) -> str:
    """Return the text that records that the race of a program was ended early, under any terms."""
    return str(EvaluationKey(fingerprint.rpartition(" ")[2], EvaluationKind.RACE))


def impure_text(program: str) -> str:
    """Return the fingerprint of a candidate that failed its check.

    It differs from the program's own, so that earlier rounds ignore it.
    """
    return str(EvaluationKey(program, EvaluationKind.IMPURE))


def screened_text(program: str) -> str:
    """Return the fingerprint of a screened candidate.

    It differs from the program's own, because the program may pass in another round.
    """
    return str(EvaluationKey(program, EvaluationKind.SCREENED))


def _hash_text(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()
