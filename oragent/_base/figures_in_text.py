"""Numbers that a text states, in digits, in words and as fractions."""

import re
from itertools import pairwise

DIGITS = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?|\.\d+")
# Matches 27,50 and 2.400,50.
COMMA_DIGITS = re.compile(r"(?<![\d.,])(?:\d{1,3}(?:\.\d{3})+(?:,\d+)?|\d+,\d+)(?![\d]|[.,]\d)")
_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
NUMBER_WORDS = (
    {word: float(value) for value, word in enumerate(_ONES.split())}
    | {word: 20.0 + 10 * index for index, word in enumerate(_TENS.split())}
    | {"hundred": 100.0, "thousand": 1000.0, "million": 1e6, "dozen": 12.0, "half": 0.5, "third": 1 / 3}
    | {"quarter": 0.25, "twice": 2.0, "double": 2.0, "thrice": 3.0, "triple": 3.0, "once": 1.0}
)


def find_figures(text: str) -> set[float]:
    """Return every number of a text, in digits, in words and as fractions."""
    figures = {float(digits.replace(",", "")) for digits in DIGITS.findall(text)}
    figures |= {float(digits.replace(".", "").replace(",", ".")) for digits in COMMA_DIGITS.findall(text)}
    figures |= {float(above) / float(below) for above, below in re.findall(r"(\d+)\s*/\s*(\d*[1-9]\d*)", text)}
    words = re.findall(r"[a-z]+", text.lower())
    figures |= {NUMBER_WORDS[word] for word in words if word in NUMBER_WORDS}
    # Handles "twenty five", "three hundred" and "two thirds".
    for first, second in pairwise(words):
        if first in NUMBER_WORDS and second.removesuffix("s") in NUMBER_WORDS:
            first_number, second_number = NUMBER_WORDS[first], NUMBER_WORDS[second.removesuffix("s")]
            figures |= {first_number + second_number, first_number * second_number}
    return figures
