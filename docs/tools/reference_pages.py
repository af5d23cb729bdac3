"""The text of ``docs/reference/``: commands, settings, Python, the contract and the database, out of the code."""

import importlib
import inspect
import re
import sqlite3
import typing
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import typer
from reference_words import COLUMNS, CONTRACT, TABLES

import oragent
from oragent import harness, modelling
from oragent._base import protocol
from oragent.cli.app import app
from oragent.harness.arguments import MODES, OPTIONS
from oragent.ledger.database import FORMAT
from oragent.search.config import config_schema
from oragent.search.store import KIND, SCHEMA

__all__ = ["REFERENCE", "pages"]

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"
SHARED = 2  # parameters of so many commands are listed once for all
# Members that only the harness and the engine use.
INTERNAL = {
    "make_fresh_process", "end", "end_fresh_process", "ask_fresh_process", "run", "cpu_s", "place_seconds", "progress", "look", "race",
    "instance_range", "call_count", "done_count", "planned_count", "album", "sample", "settled", "own", "section",
}  # fmt: skip
HEAD = "<!-- Made by docs/tools/make_reference_pages.py; not to be edited. -->\n"


def pages() -> dict[str, str]:
    """Every page by its file's name."""
    made = {
        "cli.md": _commands(), "settings.md": _settings(), "api.md": _python(),
        "contract.md": _contract(), "run_db.md": _database(), **_classes(),
    }  # fmt: skip
    return {name: f"{HEAD}{text.strip()}\n" for name, text in made.items()}


def _commands() -> str:
    """Return the page of the command line; what many commands share is told once."""
    root = typer.main.get_command(app)
    commands = list(_leaves(root))
    rows = {name: [*_arguments(command), *_options(command)] for name, command in commands}
    counts = Counter(row for parameters in rows.values() for row in parameters)
    frequent = {name: meaning for (name, meaning), count in reversed(counts.most_common()) if count >= SHARED}
    shared = [row for row in counts if frequent.get(row[0]) == row[1]]  # of two meanings of a name, the more common one
    parts = ["# Commands", f"{_sentence(root.help)} Every command has `--help`. Arguments in brackets are optional."]
    parts.append("## oragent\n\n" + _list(_options(root)))
    parts.append("## Common arguments and options\n\n" + _list(shared))
    for name, command in commands:
        words = [_shown(parameter) for parameter in command.params if parameter.param_type_name == "argument"]
        usage = f"`oragent {name} {' '.join(words)}`\n\n" if len(words) > 1 else ""
        parts.append(f"## oragent {name}\n\n{usage}{_sentence(command.help)}")
        if common := [parameter for parameter, _ in rows[name] if (parameter, _) in shared]:
            parts.append(f"[Common](#common-arguments-and-options): {', '.join(common)}.")
        if own := [row for row in rows[name] if row not in shared]:
            parts.append(_list(own))
    return "\n\n".join(parts)


def _arguments(command: Any) -> Iterator[tuple[str, str]]:
    for argument in command.params:
        if argument.param_type_name == "argument":
            yield f"`{_shown(argument)}`", _cell(getattr(argument, "help", "") or "")


def _shown(argument: Any) -> str:
    name: str = argument.metavar or argument.name.upper()
    return name if argument.required or name.startswith("[") else f"[{name}]"


def _leaves(group: Any, above: str = "") -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _leaves(command, f"{above}{name} ")
        else:
            yield f"{above}{name}", command


def _options(command: Any) -> Iterator[tuple[str, str]]:
    for option in command.params:
        if option.param_type_name == "option" and not option.hidden:
            names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
            told = _cell(option.help or "")
            default = option.default
            shown = default not in (None, "", False) and not callable(default) and "default" not in told
            yield names, told + (f" Default: `{default}`." if shown and not option.is_flag else "")


def _settings() -> str:
    parts = [
        "# Settings",
        "Every key of a search's configuration: in a file for `--config` (`oragent settings` prints one with all defaults), on "
        "the command line as `section.key=value`, or from Python as keywords. None is `null` in YAML.",
    ]
    for title, keys in _sections(config_schema(), ""):
        parts.append(f"## {title}\n\n" + _table(("key", "default", "meaning"), keys))
    return "\n\n".join(parts)


def _sections(kind: type, prefix: str) -> Iterator[tuple[str, list[tuple[str, ...]]]]:
    """The keys of a section, then those of the sections in it."""
    told, hints, rows, inner = _attributes(kind), typing.get_type_hints(kind), [], []
    whole = "" if told else (inspect.getdoc(kind) or "").split("\n\n")[0]  # what holds for each of its keys
    for item in fields(kind):
        section = next((one for one in (hints[item.name], *typing.get_args(hints[item.name]), *_inside(hints[item.name]))
                        if is_dataclass(one)), None)  # fmt: skip
        default = item.default_factory() if item.default_factory is not MISSING else item.default
        if section is not None and not any(section is seen for _, seen in inner):
            inner.append((f"{prefix}{item.name}", section))
        shown = "" if section is not None and default is not None else _value(default)
        about = told.get(item.name, "") or ("see below" if section else whole)
        if not is_dataclass(default):  # a section has a table of its own
            rows.append((f"`{prefix}{item.name}`", shown, _cell(about) + _choices(hints[item.name], about)))
    yield prefix.removesuffix(".") or "The run", rows
    seen: set[type] = set()
    for name, section in inner:
        if section not in seen:
            seen.add(section)
            yield from _sections(section, f"{name}.")


def _inside(hint: Any) -> tuple[Any, ...]:
    return tuple(part for one in typing.get_args(hint) for part in typing.get_args(one))


def _choices(hint: Any, about: str) -> str:
    """Values that a key may have, in words, if it has a few and its description does not name them all."""
    kinds = [one for one in (hint, *typing.get_args(hint), *_inside(hint))
             if typing.get_origin(one) is typing.Literal or hasattr(one, "__members__")]  # fmt: skip
    values = [str(one) for kind in kinds for one in (typing.get_args(kind) or kind)]
    if not values or all(f"`{value}`" in about for value in values):
        return ""
    return f" One of {', '.join(f'`{value}`' for value in values)}."


def _value(value: Any) -> str:
    if value is MISSING:
        return "required"
    plain = (
        {None: "null", True: "true", False: "false"}.get(value) if value is None or isinstance(value, bool) else None
    )
    if is_dataclass(value):
        return ""
    return f"`{plain or (str(value) if not isinstance(value, dict | tuple | list) else repr(value))}`"


MODULES = (oragent, harness, modelling)
RESULTS = (
    "oragent.formulate.formulation.FormulationResult",
    "oragent.converse.api.Dialogue",
    "oragent.converse.models.message_record.MessageRecord",
)


def _python() -> str:
    """Return the page of the Python interface: functions, which sphinx.ext.autodoc describes, and a list of the classes."""
    parts = [
        "# Python API",
        "This page lists what `import oragent` offers, what an `eval.py` imports from `oragent.harness`, and the functions on "
        "optimisation models in `oragent.modelling`; each class has a page of its own. [oragent from Python](../python.md) shows "
        "how to use them. All errors are subclasses of `oragent.OragentError`, with a message of one line. Other projects can "
        "link to these names: the inventory is `objects.inv` at the root of the site.",
    ]
    for module in MODULES:
        parts.append(f"## {module.__name__}\n\n{_class_list(_class_names(module))}")
        parts.append(f"```{{eval-rst}}\n{_functions(module)}\n```")
    parts.append(
        f"## Results of models\n\nWhat `oragent.formulate`, `verify` and `converse` return.\n\n{_class_list(RESULTS)}"
    )
    parts.append("```{toctree}\n:hidden:\n:glob:\n\napi/*\n```")
    return "\n\n".join(parts)


def _class_names(module: ModuleType) -> list[str]:
    names = sorted(module.__all__, key=str.lower)
    return [f"{module.__name__}.{name}" for name in names if isinstance(getattr(module, name), type)]


def _class_list(names: Iterable[str]) -> str:
    rows = ((f"[`{name.rpartition('.')[2]}`](api/{name}.md)", _cell(_summary(_resolve(name)))) for name in names)
    return _table(("class", "meaning"), rows)


def _summary(kind: type) -> str:
    return (inspect.getdoc(kind) or "").split("\n\n")[0].replace("\n", " ")


def _resolve(name: str) -> type:
    module, _, kind = name.rpartition(".")
    found: type = getattr(importlib.import_module(module), kind)
    return found


def _classes() -> dict[str, str]:
    """Return a page for each class, by its file's name."""
    names = [*(name for module in MODULES for name in _class_names(module)), *RESULTS]
    return {f"api/{name}.md": _class_page(name) for name in names}


def _class_page(name: str) -> str:
    hidden = ", ".join(sorted(INTERNAL & set(dir(_resolve(name)))))
    lines = [f".. autoclass:: {name}", "   :members:", *([f"   :exclude-members: {hidden}"] if hidden else [])]
    return "\n".join([f"# {name.rpartition('.')[2]}", "", "```{eval-rst}", *lines, "```"])


def _functions(module: ModuleType) -> str:
    """Return a directive of autodoc for each public name of a module that is no class."""
    lines = [f".. py:module:: {module.__name__}", ""]
    for name in sorted(module.__all__, key=str.lower):
        value = getattr(module, name)
        if not isinstance(value, type):
            kind = "autofunction" if callable(value) else "py:data"
            # The page of a package that can be called shows its function.
            lines += [f".. {kind}:: {getattr(value, 'function_name', f'{module.__name__}.{name}')}", ""]
    return "\n".join(lines).rstrip()


def _contract() -> str:
    options = _table(("option", "meaning"), (
        (f"`--{name}{f'={option.sign}' if option.sign else ''}`".replace("|", "\\|"),
         _cell(option.text.format(modes=", ".join((*MODES, "fresh")))))
        for name, option in OPTIONS.items()
        # These are for searches alone.
        if name not in ("kept_arrays", "floor", "race")
    ))  # fmt: skip
    source = inspect.getsource(protocol.Status)
    said = [(word, meaning) for meaning, word in re.findall(r'# (.+)\n +\w+ = "(\w+)"', source)]
    assert [word for word, _ in said] == [str(status) for status in protocol.Status]
    statuses = _table(("status", "an evaluation"), ((f"`{word}`", _cell(meaning)) for word, meaning in said))
    example = protocol.format_result(protocol.Result({"length_20": 3.85}, (2, 0, 1), 3.85))
    failure = protocol.format_failure(protocol.Failure(protocol.Status.INVALID, "row 3 holds no node", ""))
    return CONTRACT.format(options=options, statuses=statuses, example=example, failure=failure)


def _database() -> str:
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript(SCHEMA)
        tables = database.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY rootpage").fetchall()
        all_columns = {name: database.execute(f"PRAGMA table_info({name})").fetchall() for (name,) in tables}
    parts = [
        "# The database of a run",
        "This page describes the tables of `run.db`, so that you can query a run with SQL.",
        f"`run.db` is SQLite in WAL mode. You may read it while the run goes on. The table `meta` holds the kind of "
        f"the folder and the number of its format, `{KIND} {FORMAT}`. Another number is refused with one line. Columns that end in `_s` are seconds, in `_mb` MiB.",
        "```\nsqlite3 run.db 'SELECT origin, count(*) FROM candidates GROUP BY origin'    # candidates by operator\n```",
    ]
    for name, columns in all_columns.items():
        rows = [(f"`{column}`{' (key)' if key else ''}", COLUMNS[name][column]) for _, column, _, _, _, key in columns]
        assert set(COLUMNS[name]) == {column for _, column, *_ in columns}, f"reference_words.py, table {name}"
        parts.append(f"## {name}\n\n{TABLES[name]}\n\n" + _list(rows))
    return "\n\n".join(parts)


def _attributes(kind: type) -> dict[str, str]:
    """What a docstring says of each attribute."""
    told = inspect.getdoc(kind) or ""
    found: dict[str, str] = {}
    name = ""
    for line in told.partition("Attributes:\n")[2].splitlines():
        if entry := re.fullmatch(r"    (\w+): (.*)", line):
            name, found[entry[1]] = entry[1], entry[2]
        elif name and line.startswith("        "):
            found[name] += " " + line.strip()
    return found


def _sentence(text: str | None) -> str:
    told = " ".join((text or "").split())
    return _cell(told)


def _cell(text: str) -> str:
    """Text for a cell of a table."""
    told = re.sub(r"``([^`]+)``", r"`\1`", " ".join(text.split()))
    return told.replace("|", "\\|").replace("<", "&lt;")


def _list(rows: Iterable[tuple[str, str]]) -> str:
    """Return a list of names and their meanings."""
    return "\n".join(f"- {name}: {meaning}" for name, meaning in rows)


def _table(head: tuple[str, ...], rows: Any) -> str:
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])
