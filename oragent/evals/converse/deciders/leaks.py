"""Whether a decision agent tells what it must keep to itself."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

NUMBER = re.compile(r"(?<![\w.,:])(\d{0,4}[.,]\d{1,6}|\d{1,4})(?![\d:])(\s*%)?")
TRIVIAL = (0.0, 0.5, 1.0)  # of any utility: they tell nothing
FORBIDDEN = ("model", "objective", "optimi[sz]\\w*", "preference", "utilit\\w*")
PAPER_FORBIDDEN = (*FORBIDDEN, "solution")  # the published list; its own parent says "solution"


@dataclass(frozen=True)
class Secrets:
    """What must not be said.

    Attributes:
        numbers: Numbers, such as weights and values, between 0 and 1.
        words: Patterns of words.
    """

    numbers: tuple[float, ...]
    words: tuple[str, ...] = FORBIDDEN

    @classmethod
    def of(cls, numbers: Iterable[float], words: tuple[str, ...] = FORBIDDEN) -> "Secrets":
        """Secrets from all numbers that matter; those that any utility has are none."""
        rounded = {round(number, 6) for number in numbers}
        return cls(tuple(sorted(n for n in rounded if all(abs(n - trivial) > 1e-6 for trivial in TRIVIAL))), words)


def find_leaks(text: str, secrets: Secrets) -> tuple[str, ...]:
    """List the secrets in a message: numbers as they are or in percent, rounded to two digits or more; words."""
    leaked = [f"the number {match[0].strip()}" for match in NUMBER.finditer(text) if _is_secret(match, secrets.numbers)]
    for word in secrets.words:
        leaked += [f"the word {hit[0]!r}" for hit in re.finditer(rf"\b{word}s?\b", text, re.IGNORECASE)]
    return tuple(dict.fromkeys(leaked))


def _is_secret(match: re.Match[str], numbers: Iterable[float]) -> bool:
    whole, _, digits = match[1].replace(",", ".").partition(".")
    decimals = len(digits)
    value = float(f"{whole or 0}.{digits or 0}")
    if match[2]:
        value, decimals = value / 100, decimals + 2
    if decimals < 2:
        return False
    slack = 0.5 * 10.0**-decimals + 1e-9
    return any(abs(value - number) <= slack for number in numbers)
