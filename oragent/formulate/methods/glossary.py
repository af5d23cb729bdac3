"""Modelling patterns that a program can be written with, for those who look a term up."""

import difflib
from collections.abc import Mapping

PATTERNS: Mapping[str, str] = {
    "ratio": "x is at least 70 % of x + y: x >= 0.7 * (x + y), linear; never divide by a variable",
    "fixed cost": "cost f if x > 0: binary z, x <= M * z with the smallest M that holds, cost f * z",
    "either or": "one of two rows: binary z, a <= b + M * z and c <= d + M * (1 - z)",
    "at least k": "at least k of n: sum of binaries >= k",
    "implication": "if a then b, for binaries: a <= b",
    "absolute value": "|e| in a minimisation: t >= e, t >= -e, minimise t",
    "maximum": "smallest largest value: t >= every value, minimise t; largest smallest: t <= every value, maximise t",
    "inventory": "stock after a period = stock before + made - sold; the first stock is given, stocks are not negative",
    "assignment": "binary x[i, j]; every i once: sum over j = 1; every j at most once: sum over i <= 1",
    "transport": "amount x[i, j] >= 0; sum over j <= supply of i; sum over i >= demand of j",
    "flow": "what enters a node leaves it, but for source and sink; each arc within its capacity",
    "covering": "every element is in a set that is chosen: sum of the binaries of its sets >= 1",
    "knapsack": "sum of weights of what is chosen <= capacity; binaries, or integers where several may be taken",
    "blending": "share of a part in a mix: amount of the part >= share * amount of the whole",
    "ordering": "i before j: start[j] >= start[i] + time[i] - M * (1 - before[i, j])",
    "tour": "every place entered and left once; u[i] - u[j] + n * x[i, j] <= n - 1 but for the first place",
    "integer": "people, trips, machines and pills come in whole numbers: cat='Integer'; litres and hours do not",
    "piecewise": "a cost with falling steps needs binaries; one with rising steps in a minimisation does not",
}


def lookup(term: str) -> str:
    """What is known of a term, or of the nearest one; or which there are."""
    near = difflib.get_close_matches(term.lower().strip(), PATTERNS, 1, 0.5)
    return f"{near[0]}: {PATTERNS[near[0]]}" if near else f"nothing on that; terms: {', '.join(PATTERNS)}"
