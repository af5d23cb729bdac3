"""Safe loading of untrusted JSON and YAML, with limits on size, depth, values and aliases."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from oragent._base.files import read_bounded

MAX_BYTES = 4 << 20
MAX_DEPTH = 100
# Aliases count with their content, each time that they are used.
MAX_VALUES = 100_000
# Maximum characters of a number: such integers fit into a float, and reading them in base 60 takes no seconds.
MAX_NUMBER = 250
# Maximum characters of an integer key: longer ones can be chosen to have equal hashes.
MAX_NUMBER_KEY = 18
LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# Numbers in any notation of YAML, but no hash values.
NUMBER = re.compile(r"[-+]?(?:0x[0-9a-fA-F_]+|0b[01_]+|[0-9_:]+|[0-9_:]*\.[0-9_]*(?:[eE][-+][0-9]+)?)")
TEXT_TAGS = (None, "!", "tag:yaml.org,2002:str", "tag:yaml.org,2002:binary")
REMEDY = "restore the original file"


# Maximum bits of an integer, so that it fits into a float.
MAX_BITS = 1000


@dataclass(slots=True)
class _Collection:
    """List or mapping whose end has not been reached."""

    anchor: str | None
    is_mapping: bool
    items: int = 0
    values: int = 1
    height: int = 1


def load_yaml(path: Path) -> Any:
    """Parse a YAML file of a folder.

    Raises:
        OSError: It cannot be read, is not a regular file, or has more than ``MAX_BYTES``.
        yaml.YAMLError: It is not UTF-8, is not YAML, or exceeds another limit; the text is one line.
    """
    try:
        return parse_yaml(read_bounded(path, MAX_BYTES))
    except UnicodeDecodeError as problem:
        raise yaml.YAMLError(f"the file is not UTF-8 text ({problem}): {REMEDY}") from None


def parse_yaml(text: str) -> Any:
    """Parse YAML within the limits of this module.

    Raises:
        yaml.YAMLError: It is not YAML, or exceeds a limit; the text is one line.
    """
    if len(text) > MAX_BYTES:
        raise _exceed(f"is longer than {MAX_BYTES:,} bytes")
    try:
        _check_events(text)
        return yaml.load(text, LOADER)
    except yaml.YAMLError as problem:
        raise yaml.YAMLError(" ".join(str(problem).split())) from None
    except (ValueError, ArithmeticError, LookupError, AttributeError, TypeError, RecursionError) as problem:
        reason = f"{type(problem).__name__} {' '.join(str(problem).split())[:200]}"
        raise yaml.YAMLError(f"a value does not have the form of its type ({reason}): correct it") from None


def _check_events(text: str) -> None:
    opened = [_Collection(None, is_mapping=False)]
    # Values and height; None until the end is reached.
    anchors: dict[str, tuple[int, int] | None] = {}
    for event in yaml.parse(text, LOADER):
        if isinstance(event, yaml.CollectionStartEvent):
            opened.append(_Collection(event.anchor, isinstance(event, yaml.MappingStartEvent)))
            if event.anchor is not None:
                anchors[event.anchor] = None
            # Added to the parent at its end.
            values = height = 0
        elif isinstance(event, yaml.CollectionEndEvent):
            closed_collection = opened.pop()
            values, height = closed_collection.values, closed_collection.height
        elif isinstance(event, yaml.ScalarEvent):
            _check_number(event, is_key=opened[-1].is_mapping and opened[-1].items % 2 == 0)
            values, height = 1, 1
        elif isinstance(event, yaml.AliasEvent):
            # Unknown aliases are refused later, when the tree is built.
            size = anchors.get(event.anchor or "", (1, 1))
            if size is None:
                raise _exceed("holds a value that contains itself")
            values, height = size
        else:
            continue
        if values:
            if (
                anchor := closed_collection.anchor if isinstance(event, yaml.CollectionEndEvent) else event.anchor
            ) is not None:
                anchors[anchor] = (values, height)
            parent = opened[-1]
            parent.items += 1
            parent.values += values
            parent.height = max(parent.height, height + 1)
        if len(opened) + opened[-1].height > MAX_DEPTH + 2:
            raise _exceed(f"is nested more than {MAX_DEPTH} levels deep")
        if sum(collection.values for collection in opened) > MAX_VALUES:
            raise _exceed(f"holds more than {MAX_VALUES:,} values, aliases included")


def _check_number(event: yaml.ScalarEvent, *, is_key: bool) -> None:
    limit = MAX_NUMBER_KEY if is_key else MAX_NUMBER
    if len(event.value) <= limit:
        return
    if event.tag not in TEXT_TAGS or (event.style in (None, "") and NUMBER.fullmatch(event.value)):
        raise _exceed(f"holds a number of more than {limit} characters")


def _exceed(reason: str) -> yaml.YAMLError:
    return yaml.YAMLError(f"the file {reason}, more than oragent reads: {REMEDY}")


def parse_json(text: str, limit: int | None = None) -> Any:
    """Parse JSON of limited depth.

    Args:
        text: The JSON.
        limit: Maximum number of characters; None for no limit.

    Raises:
        ValueError: It is not JSON, is nested too deeply, is too long, or contains an integer that is too long.
    """
    if limit is not None and len(text) > limit:
        raise ValueError(f"the JSON has {len(text):,} characters; the limit is {limit:,}")
    try:
        tree = json.loads(text)
    except RecursionError:
        raise ValueError("JSON is nested too deeply") from None
    check_bounds(tree)
    return tree


def check_bounds(tree: Any) -> None:
    """Check the depth and the integers of parsed JSON."""
    level = [tree]
    for _ in range(MAX_DEPTH):
        if any(isinstance(item, int) and item.bit_length() > MAX_BITS for item in level):
            raise ValueError("JSON holds a whole number that is too long")
        parts = [item.values() if isinstance(item, dict) else item for item in level if isinstance(item, dict | list)]
        level = [item for part in parts for item in part]
        if not level:
            return
    raise ValueError("JSON is nested too deeply")
