"""Substitutes for names that LP, MPS and solution files do not allow."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from oragent.modelling.data.indexed import IndexedModel

# "e1" is excluded, because parsers read it as part of a number.
SAFE = re.compile(r"(?![eE][0-9]|[eE]$)[A-Za-z_][A-Za-z0-9_]{0,99}\Z")
RESERVED = re.compile(
    "(min|max|minimi[sz]e|maximi[sz]e|minimum|maximum|st|subject|to|such|that|bounds?|free|inf|infinity|gen|generals?|"
    "int|integers?|bin|binary|binaries|semis?|sos[12]?|s[12]|pwl|pwlobj|sec|end|rhs|obj|objective|name|rows|columns|"
    "ranges|endata|objsense|marker|idle_row)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class SafeNaming:
    """Substitutes for names, by original name."""

    variables: Mapping[str, str]
    # Also of objectives and of other parts than rows.
    rows: Mapping[str, str]

    @classmethod
    def for_model(cls, model: IndexedModel) -> Self:
        """Return the substitutes for names with spaces, signs, or a meaning in a file format."""
        features, objective = model.named_features, model.objective_record.name
        titles = [*(part.name for part in features.parts), *(goal.name for goal in features.goals)]
        rows = _stand_ins([*model.flat_row_names, *titles, *filter(None, [objective])], "r")
        return cls(_stand_ins(model.flat_variable_names, "x"), rows)


def _stand_ins(names: Sequence[str], letter: str) -> dict[str, str]:
    taken = {name.lower() for name in names}
    stand_ins = {}
    number = 0
    for name in names:
        if not SAFE.match(name) or RESERVED.fullmatch(name):
            number += 1
            while f"{letter}{number}" in taken:
                number += 1
            stand_ins[name] = f"{letter}{number}"
    return stand_ins
