"""Read settings from YAML and the command line, and check them against dataclasses."""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar, get_args, get_type_hints

import yaml
from pydantic import ConfigDict, TypeAdapter, ValidationError

from oragent._base import package_data
from oragent._base.errors import ConfigError
from oragent._base.files import read_bounded
from oragent._base.safe_load import MAX_BYTES, parse_yaml

# Configuration of dataclasses with settings: an unknown key is an error.
STRICT = ConfigDict(extra="forbid")
UNKNOWN = ("unexpected_keyword_argument", "extra_forbidden")
# Hint for a text that was cut off, as in {key: a text, and more}.
COMMA = "within {...} a comma ends a value, so put a text with commas in quotes"
# Sections that a text can stand for, which is their name.
NAMED = ("strategy", "model")
T = TypeVar("T")


def build_settings(schema: type[T], tree: dict[str, Any], overrides: Sequence[str], source: str) -> T:
    """Check a tree of settings, after overrides.

    Args:
        schema: Schema of the settings, a pydantic dataclass.
        tree: Keys and values, nested.
        overrides: Texts ``section.key=value``, the value in YAML; they win over the tree.
        source: Name of the tree's source, for errors.

    Raises:
        ConfigError: A key or a value is wrong; names the source, the key, what was expected, and the nearest valid key.
    """
    tree = dict(tree)
    _name_sections(tree, schema)
    for override in overrides:
        key, equals, text = override.partition("=")
        if not equals or not key:
            raise ConfigError(f"cannot read {override!r}: write section.key=value, such as budget.evaluations=500")
        try:
            _set_key(tree, key, parse_yaml(text))
        except yaml.YAMLError:
            raise ConfigError(f"cannot read the value of {override!r}: it must be YAML") from None
        _name_sections(tree, schema)
    try:
        return TypeAdapter(schema).validate_python(tree)
    except ValidationError as problem:
        raise ConfigError(f"{source}: {explain_validation_error(problem, schema)}") from None


def _name_sections(tree: dict[str, Any], schema: type) -> None:
    """Replace a text in place of a section of the schema by the section with this name."""
    texts = [key for key in NAMED if isinstance(tree.get(key), str)]
    sections = {key for key in texts if _find_sections(get_type_hints(schema).get(key))}
    tree |= {key: {"name": tree[key]} for key in texts if key in sections}


def _find_sections(hint: Any) -> list[type]:
    """Return the dataclasses in an annotation."""
    return [kind for kind in (hint, *get_args(hint)) if isinstance(kind, type) and is_dataclass(kind)]


def dump_settings(settings: object) -> dict[str, Any]:
    """Convert settings into the plain tree that ``build_settings`` takes, defaults included."""
    tree: dict[str, Any] = TypeAdapter(type(settings)).dump_python(settings, mode="json")
    return tree


def flatten_tree(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the values of a tree of settings by ``section.key``."""
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        if isinstance(value, Mapping):
            flat |= flatten_tree(value, f"{prefix}{key}.")
        else:
            flat |= {f"{prefix}{key}": value}
    return flat


def load_settings_tree(path: Path) -> dict[str, Any]:
    """Read a settings file as a tree; an installed file may be given by its name. An empty file is an empty tree."""
    path = package_data.find_settings_file(path)
    try:
        tree = parse_yaml(read_bounded(path, MAX_BYTES))
    except FileNotFoundError:
        ship = ", ".join(package_data.list_settings_names())
        message = f"cannot read the configuration {path}: it does not exist; installed ones are {ship}"
        raise ConfigError(message) from None
    except (OSError, UnicodeDecodeError) as problem:
        raise ConfigError(f"cannot read the configuration {path}: {problem}") from None
    except yaml.YAMLError as problem:
        raise ConfigError(f"{path} is not YAML: {' '.join(str(problem).split())}") from None
    if tree is not None and not isinstance(tree, dict):
        raise ConfigError(f"{path} must hold keys and values, not a {type(tree).__name__}")
    return tree or {}


def explain_validation_error(problem: ValidationError, schema: type) -> str:
    """Describe a validation error in one line: the key, what was expected, the nearest valid key."""
    # An unknown key is often the reason why another one is missing.
    unknown = [error for error in problem.errors() if error["type"] in UNKNOWN]
    error = (unknown or problem.errors())[0]
    path = [str(part) for part in error["loc"]]
    key = ".".join(path)
    if unknown:
        if error["input"] is None and not path[-1].isidentifier():
            return f'unknown key {key!r}: {COMMA}, such as "..., {path[-1]}"'
        valid = _valid_keys(schema, path[:-1])
        near = difflib.get_close_matches(path[-1], valid, cutoff=0.5)
        hint = f"did you mean {near[0]!r}?" if near else f"valid keys: {', '.join(valid)}"
        return f"unknown key {key!r}: {hint}"
    if error["type"] in ("missing", "missing_argument"):
        return f"key {key!r} is missing"
    # An error that a dataclass raised, about several keys.
    if error["type"] == "value_error":
        if key:
            return f"{key}: {error['ctx']['error']}"
        return str(error["ctx"]["error"])
    hint = ""
    if error["type"] == "string_type" and error["input"] is None:
        hint = f"; {COMMA}"
    return f"key {key!r}: {error['msg'][0].lower()}{error['msg'][1:]}, not {error['input']!r}{hint}"


def _set_key(tree: dict[str, Any], key: str, value: Any) -> None:
    *sections, last = key.split(".")
    for section in sections:
        inner = tree.get(section)
        tree[section] = dict(inner) if isinstance(inner, dict) else {}
        tree = tree[section]
    tree[last] = value


def _valid_keys(schema: type, path: Sequence[str]) -> list[str]:
    for part in path:
        if sections := _find_sections(get_type_hints(schema).get(part)):
            schema = sections[0]
    return [item.name for item in fields(schema)]
