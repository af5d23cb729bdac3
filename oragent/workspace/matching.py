"""Decide without a model if an answer names an entity, by the public release's normalisation.

Zhou et al. 2026: both texts are normalised; identifiers must stand alone, symbols may differ in spaces, quotes and
brackets, and numbers may be written in any way.
"""

import math
import re
import unicodedata
from functools import cached_property

ALIKE = str.maketrans({
    "“": '"', "”": '"', "„": '"', "‟": '"', "‘": "'", "’": "'", "‚": "'", "‛": "'",
    "‐": "-", "‑": "-", "‒": "-", "–": "-", "—": "-", "―": "-", "−": "-",
    "→": "->", "⇒": "->", "⟶": "->", "⟹": "->", "←": "<-", "⇐": "<-", "↔": "<->", "⇔": "<->", "`": None,
})  # fmt: skip
THOUSANDS = re.compile(r"(?<=[0-9]),(?=[0-9]{3}(?![0-9]))")
IDENTIFIER = re.compile(r"[a-z0-9_]+")
NUMBER = r"[-+]?[0-9]+(?:\.[0-9]+)?(?:e[-+]?[0-9]+)?"
RELATIVE, ABSOLUTE = 1e-6, 1e-9


def normalise_text(text: str) -> str:
    """A text as it is compared.

    Unicode NFKC; quotes, dashes, minus signs and arrows in ASCII; backticks and thousands separators dropped; white
    space collapsed to single spaces; case folded.
    """
    plain = unicodedata.normalize("NFKC", text).translate(ALIKE)
    return " ".join(THOUSANDS.sub("", plain).split()).casefold()


def compact_text(text: str) -> str:
    """A normalised text without spaces and quotes, square brackets as round ones: ``x["a", 1]`` is ``x(a,1)``."""
    return re.sub(r"[\s\"']+", "", normalise_text(text)).replace("[", "(").replace("]", ")")


class SearchableAnswer:
    """An answer, prepared for looking up many entities.

    Args:
        text: Text of the answer as it was given.
        bounded: Whether a number must stand between characters that belong to no identifier; the release finds the 2 of
            ``x2``, too.
    """

    def __init__(self, text: str, bounded: bool = False) -> None:
        self._raw = text
        self._text = normalise_text(text)
        self._bounded = bounded

    def names_entity(self, entity: str) -> bool:
        """Return True if the answer names an entity; an empty entity is never named."""
        normalised = normalise_text(entity)
        if not normalised:
            return False
        if IDENTIFIER.fullmatch(normalised):
            if re.search(rf"(?<![a-z0-9_]){re.escape(normalised)}(?![a-z0-9_])", self._text):
                return True
        elif normalised in self._text or (compact_text(entity) and compact_text(entity) in self._compact):
            return True
        return self.names_number(normalised)

    def names_number(self, text: str) -> bool:
        """Return whether the answer has a number of this value; False where the text is no number."""
        if not re.fullmatch(NUMBER, text):
            return False
        value = float(text)
        return any(math.isclose(value, number, rel_tol=RELATIVE, abs_tol=ABSOLUTE) for number in self._numbers)

    @cached_property
    def _compact(self) -> str:
        return compact_text(self._raw)

    @cached_property
    def _numbers(self) -> frozenset[float]:
        pattern = rf"(?<![a-z0-9_]){NUMBER}(?![a-z0-9_])" if self._bounded else NUMBER
        return frozenset(float(token) for token in re.findall(pattern, self._text))
