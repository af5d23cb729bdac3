"""Which wording of prompts suits a model: by what its replies have shown, and at first by its name's size."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from oragent._base.protocol import Status
from oragent.llm.model_settings import ModelSettings
from oragent.search.candidate import Candidate

SIZE = re.compile(r"(?<![a-z0-9.])(\d+(?:\.\d+)?)b(?![a-z0-9])", re.IGNORECASE)
SMALL_B = 9.0  # billions of parameters that make a small model, by its name
ENOUGH = 6  # programs of a model after which its replies decide
USABLE, SCORED = 0.85, 0.6  # shares of them that make it a strong one


@dataclass(frozen=True)
class ReplyCounts:
    """Counts over the replies of some rounds."""

    programs: int = 0  # number of programs that were asked for
    usable: int = 0  # number of those that came with the first reply
    scored: int = 0  # number of those that got a score, or ran out of time, which tells nothing about their writer

    def __add__(self, counts: "ReplyCounts") -> "ReplyCounts":
        return ReplyCounts(self.programs + counts.programs, self.usable + counts.usable, self.scored + counts.scored)


def count_replies(candidates: Sequence[Candidate]) -> ReplyCounts:
    """Count how many programs of a round were written, usable and scored."""
    written = [candidate for candidate in candidates if candidate.call is not None]
    usable = [
        candidate
        for candidate in written
        if candidate.origin != "repair" and candidate.evaluation.status is not Status.REJECTED
    ]
    ran = [candidate for candidate in written if candidate.score is not None or _is_late(candidate)]
    return ReplyCounts(len(written), len(usable), len(ran))


def _is_late(candidate: Candidate) -> bool:
    return candidate.evaluation.status is Status.TIMEOUT


def choose_style(model: ModelSettings | None, shown: ReplyCounts) -> str:
    """The style of a model's prompts, ``small`` or ``strong``, by its settings, its replies so far, or its size."""
    if model is not None and model.style != "auto":
        return model.style
    if shown.programs >= ENOUGH:
        good = shown.usable >= USABLE * shown.programs and shown.scored >= SCORED * shown.programs
        return "strong" if good else "small"
    size = SIZE.search(model.name) if model else None
    return "small" if size and float(size[1]) <= SMALL_B else "strong"
