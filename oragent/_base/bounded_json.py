"""JSON of somebody else, in bounds that everything that reads the values can bear."""

import json
from typing import Any

MAX_DEPTH = 100
MAX_BITS = 1000  # of whole numbers: they fit into a float


def parse_json(text: str) -> Any:
    """Parse JSON of bounded depth.

    Raises:
        ValueError: if it is no JSON, is nested too deeply, or holds a whole number that is too long.
    """
    try:
        tree = json.loads(text)
    except RecursionError:
        raise ValueError("JSON is nested too deeply") from None
    check_bounds(tree)
    return tree


def check_bounds(tree: Any) -> None:
    """Check the depth and the whole numbers of parsed JSON.

    Raises:
        ValueError: if it is nested too deeply, or holds a whole number that is too long.
    """
    level = [tree]
    for _ in range(MAX_DEPTH):
        if any(isinstance(item, int) and item.bit_length() > MAX_BITS for item in level):
            raise ValueError("JSON holds a whole number that is too long")
        parts = [item.values() if isinstance(item, dict) else item for item in level if isinstance(item, dict | list)]
        level = [item for part in parts for item in part]
        if not level:
            return
    raise ValueError("JSON is nested too deeply")
