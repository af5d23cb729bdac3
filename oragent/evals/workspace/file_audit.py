"""What the files of a release are like: its tables and parameters, and its programs where there are any."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from oragent.workspace import parameters, tables
from oragent.workspace.layout import FileRole, Workspace
from oragent.workspace.reading import read_text

PANDAS = re.compile(r"^\s*(?:import|from) pandas\b", re.MULTILINE)


@dataclass(frozen=True)
class TableAudit:
    """The tables of build, by numbers of instances.

    Attributes:
        with_tables: Instances with a table beside the parameters.
        empty_tables: Instances with an empty table.
        empty_parameters: Instances with an empty file of parameters.
        bare_parameters: Instances with a header of parameters and no row.
        valueless: Instances with a parameter without a value.
        uneven: Instances with a file whose rows differ in length: it reads as plain CSV only.
        spaced: Instances with spaces behind the commas of the parameters' header.
    """

    with_tables: tuple[int, ...]
    empty_tables: tuple[int, ...]
    empty_parameters: tuple[int, ...]
    bare_parameters: tuple[int, ...]
    valueless: tuple[int, ...]
    uneven: tuple[int, ...]
    spaced: tuple[int, ...]


@dataclass(frozen=True)
class CodeAudit:
    """The programs of the originals of revise; none in a copy without them.

    Attributes:
        files: Number of originals that have a program, by the program's name.
        pandas: Numbers of the originals whose program imports pandas, which fails on uneven tables.
    """

    files: Mapping[str, int]
    pandas: tuple[int, ...]


def audit_tables(workspaces: Mapping[int, Workspace]) -> TableAudit:
    """Count what the tables and parameters of some workspaces are like.

    Raises:
        WorkspaceError: if one is no text, or its parameters are none.
    """
    found: dict[str, set[int]] = {name: set() for name in TableAudit.__dataclass_fields__}
    for number, workspace in workspaces.items():
        for path, place in workspace.of_role(FileRole.TABLE, FileRole.PARAMETERS).items():
            if path.endswith(".csv"):
                for name in _table_traits(path, read_text(place)):
                    found[name].add(number)
    return TableAudit(**{name: tuple(sorted(numbers)) for name, numbers in found.items()})


def _table_traits(path: str, text: str) -> list[str]:
    table, general = tables.read_table(text).table, path.endswith(parameters.FILE)
    traits = [] if general else ["with_tables"]
    if table is None:
        return [*traits, "empty_parameters" if general else "empty_tables"]
    if any(len(row) != len(table.header) for row in table.rows):
        traits.append("uneven")
    if general:
        given, _ = parameters.read_parameters(table)
        traits += ["bare_parameters"] if not table.rows else []
        traits += ["valueless"] if any(not one.value for one in given) else []
        traits += ["spaced"] if any(name != name.strip() for name in table.header) else []
    return traits


def audit_code(workspaces: Mapping[int, Workspace]) -> CodeAudit:
    """Count the programs of the originals of some workspaces.

    Raises:
        WorkspaceError: if one is no text.
    """
    names: Counter[str] = Counter()
    pandas = []
    for number, workspace in workspaces.items():
        code = [place for path, place in workspace.of_role(FileRole.CODE).items() if path.startswith("original/")]
        names.update(place.name for place in code)
        pandas += [number] if any(PANDAS.search(read_text(place)) for place in code) else []
    return CodeAudit(dict(sorted(names.items())), tuple(pandas))
