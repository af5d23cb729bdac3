"""A sentence of an explanation, as data: a terminal and a page show the same ones."""

from dataclasses import dataclass
from enum import StrEnum


class Topic(StrEnum):
    """What a sentence is about."""

    STATUS = "status"
    BINDING = "binding rows"
    BOUND = "variables at a bound"
    SLACK = "rows with room"
    CONFLICT = "what cannot hold together"
    NEAREST = "right-hand sides that would do"
    RAY = "what grows without end"


@dataclass(frozen=True)
class ModelRemark:
    """One sentence.

    Attributes:
        topic: What it is about.
        subject: Name of the row or variable, as it is in the model; empty where it is about the whole.
        text: The sentence; names in it are made plain, but it is no markup.
    """

    topic: Topic
    subject: str
    text: str
