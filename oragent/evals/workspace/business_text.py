"""What a requirement in a stakeholder's voice may not say, and what it has to keep.

Zhou et al. 2026: the business writer speaks of the business, never of the model, and keeps every number and name.
"""

import re

from oragent.workspace.matching import normalise

MODELLING = (
    r"add(?:s|ed|ing)? a (?:new )?constraint", r"modify(?:ing)? (?:the )?objective",
    r"introduc(?:e|es|ed|ing) a (?:new )?(?:variable|binary|constraint)", r"the model (?:should|must enforce|now)",
    r"in addition to the original problem", r"the formulation (?:must|should now)", r"decision variables?",
    r"subject to", r"penali[sz]e[sd]?", r"constraint stating that", r"the revised (?:problem|model|formulation)",
    r"ground truth", r"this revision", r"the model must", r"big-m", r"milp", r"objective function",
    r"fairness penalty", r"fixed charge", r"per-unit penalty", r"a setup cost is incurred",
    r"esg", r"compliance review", r"management wants",
)  # fmt: skip
NUMBER = re.compile(r"(?<![\w.])[-+]?[0-9]+(?:\.[0-9]+)?")
NAME = re.compile(r"\b[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+\b|\b[A-Za-z]+\.(?:csv|json)\b")


def modelling_words(text: str) -> tuple[str, ...]:
    """The words of modelling, and worn ones, in a text, in the order of the list that they are on."""
    plain = normalise(text)
    found = (re.search(rf"\b{pattern}\b", plain) for pattern in MODELLING)
    return tuple(match[0] for match in found if match)


def lost(before: str, after: str) -> tuple[str, ...]:
    """Numbers and names of a text that its rewriting no longer has; numbers first.

    Numbers are compared by value; names are those with an underscore, and of files.
    """
    numbers, names = (dict.fromkeys(map(float, NUMBER.findall(normalise(before)))), dict.fromkeys(NAME.findall(before)))
    kept_numbers, kept_names = set(map(float, NUMBER.findall(normalise(after)))), set(NAME.findall(after))
    missing = [f"{value:g}" for value in numbers if value not in kept_numbers]
    return (*missing, *(name for name in names if name not in kept_names))
