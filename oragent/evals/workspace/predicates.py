"""Semantic criteria that need no judge: names and numbers that one sentence must hold together, and must not deny."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from oragent._base.errors import WorkspaceError
from oragent.workspace.matching import SearchableAnswer, normalise_text

ENDS = re.compile(
    r"(?<!\be\.g)(?<!\bi\.e)(?<!\bcf)(?<!\bvs)[.!]+(?=\s|$)"  # a point, but for those of abbreviations
    r"|(?<=\?)(?=\s|$)|\n\s*\n|\n\s*(?=[-*#]|\d+[.)]\s)"
)
DENIALS = re.compile(
    r"\b(?:not|no|never|none|neither|nor|nothing|without|cannot|false|wrong(?:ly)?|incorrect(?:ly)?)\b"
    r"|\b(?:unlikely|hardly|fails? to)\b|n't\b"
)


@dataclass(frozen=True)
class Predicate:
    """What one sentence has to say.

    Attributes:
        together: Names and numbers that must stand in it, all of them.
        denied: Whether the fact is a negative one, as in "row 3 does not bind": then the sentence must hold a denial.
    """

    together: tuple[str, ...]
    denied: bool = False

    @staticmethod
    def read(value: object, place: str) -> "Predicate":
        """A predicate from a rubric: ``{"together": [TEXT, ...], "denied": false}``.

        Raises:
            WorkspaceError: if it is none; ``place`` tells where it stood.
        """
        together = value.get("together") if isinstance(value, Mapping) else None
        denied = value.get("denied", False) if isinstance(value, Mapping) else None
        if not isinstance(together, list) or not together or not isinstance(denied, bool):
            raise WorkspaceError(
                f"{place} has a predicate without names; expected together: a list, denied: true or false"
            )
        if not all(isinstance(one, str) and one.strip() for one in together):
            raise WorkspaceError(f"{place} has a predicate with an empty name; expected texts")
        return Predicate(tuple(together), denied)

    def holds(self, answer: str) -> bool:
        """Whether an answer says it: in one sentence at least, and in none the contrary; questions say nothing."""
        said = [sentence for sentence in sentences(answer) if not sentence.endswith("?")]
        matching = [sentence for sentence in said if self._names_all(sentence)]
        denials = [bool(DENIALS.search(normalise_text(sentence))) for sentence in matching]
        return bool(denials) and all(denial == self.denied for denial in denials)

    def _names_all(self, sentence: str) -> bool:
        prepared = SearchableAnswer(sentence, bounded=True)
        return all(prepared.names_entity(name) for name in self.together)


def sentences(text: str) -> list[str]:
    """The sentences of a text; an empty line and a list's item end one as well, the point in ``2.5`` does not."""
    return [part.strip() for part in ENDS.split(text) if part and part.strip()]
