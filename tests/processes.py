"""Processes of this machine, found by words of their command: what tests of isolation look for."""

from pathlib import Path

__all__ = ["bearing", "lineage"]


def bearing(word: str) -> list[int]:
    """Numbers of the processes that have this text in their command; words of a command are parted by NUL."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if word.encode() in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue  # it ended while we looked
    return sorted(found)


def lineage(process: int) -> tuple[int, int]:
    """Parent and session of a process.

    Raises:
        OSError: if it has ended.
    """
    _, parent, _, session = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[:4]
    return int(parent), int(session)
