"""The kinds of folders that commands leave, told apart by the names of the files in them."""

import os
from collections.abc import Collection
from contextlib import suppress
from enum import StrEnum
from pathlib import Path


class FolderKind(StrEnum):
    """What a folder holds."""

    SEARCH = "search"
    COMPARISON = "comparison"
    STUDY = "study"
    FORMULATION = "formulation"
    CONVERSATION = "conversation"
    WORKSPACE = "workspace"
    FORMULATE_BENCH = "formulate benchmark"
    CONVERSE_BENCH = "converse benchmark"
    WORKSPACE_BENCH = "workspace benchmark"


# The first row whose names are all there decides: every product records model calls in run.db.
NAMES = {
    FolderKind.STUDY: {"comparison.yaml", "study.md"},
    FolderKind.COMPARISON: {"comparison.yaml"},
    FolderKind.CONVERSE_BENCH: {"converse-bench.yaml"},
    FolderKind.FORMULATE_BENCH: {"formulate-bench.yaml"},
    FolderKind.WORKSPACE_BENCH: {"workspace-bench.yaml"},
    FolderKind.CONVERSATION: {"converse.json"},
    FolderKind.FORMULATION: {"formulate.json"},
    FolderKind.WORKSPACE: {"run.db", "docs", "data"},
    FolderKind.SEARCH: {"run.db", "config.yaml"},
}


def find_kind(names: Collection[str]) -> FolderKind | None:
    """Return the kind of a folder with these names in it; None for any other."""
    return next((kind for kind, expected in NAMES.items() if expected.issubset(names)), None)


def kind_of_folder(folder: Path) -> FolderKind | None:
    """Return the kind of a folder; None for any other, or if it cannot be read."""
    with suppress(OSError):
        return find_kind(set(os.listdir(folder)))
    return None
