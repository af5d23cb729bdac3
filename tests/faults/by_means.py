"""Put all misbehaving candidates to several sets of means, and print which guarantees each set holds.

    python -m tests.faults.by_means [MODE ...]

Modes: all, user, limits, without:namespaces, without:landlock, without:seccomp, cluster. The table is Markdown. A cell says
how many candidates were held of those that try to break the guarantee, or that the guarantee is not given.
"""

import sys
from typing import Any

import pytest

from tests.faults.drive import FAULTS
from tests.faults.test_faults import GOT_THROUGH, drive, started

MODES = ("all", "user", "limits", "without:namespaces", "without:landlock", "without:seccomp", "cluster")
TITLES = {
    "": "right status, no forged score, bounds kept",
    "alone": "start processes",
    "offline": "open a network connection",
    "scored": "forge a score in the evaluator's process",
    "secrets": "see the environment or an open file",
    "unread": "read other files",
    "unseen": "see other processes and files",
    "untouched": "change a file",
}


def cell(found: dict[str, Any], holds: str) -> str:
    """How many candidates of a guarantee were held, and whether it is given at all."""
    faults = [fault for fault in FAULTS if fault.holds == holds]
    held = [
        fault
        for fault in faults
        if (ended := found["faults"][fault.name])["status"] in fault.expected
        and GOT_THROUGH not in ended["message"]
        and ended["score"] in (None, found["honest"])
    ]
    return f"{len(held)} of {len(faults)}" + (", not guaranteed" if holds in found["not_held"] else "")


def main() -> None:
    """Print the table."""
    modes = sys.argv[1:] or list(MODES)
    columns = {}
    for mode in modes:
        try:
            columns[mode] = drive(*started(mode), *(["--cluster"] if mode == "cluster" else []))
        except pytest.skip.Exception as reason:
            print(f"{mode} is left out: {reason}", file=sys.stderr)
    print(f"| a candidate cannot | {' | '.join(columns)} |\n|---|{'---|' * len(columns)}")
    for holds in sorted({fault.holds for fault in FAULTS}):
        print(f"| {TITLES[holds]} | {' | '.join(cell(found, holds) for found in columns.values())} |")
    left = (f"{len(found['left'])}, {len(found['changed'])}" for found in columns.values())
    print(f"| *processes left, files changed* | {' | '.join(left)} |")


if __name__ == "__main__":
    main()
