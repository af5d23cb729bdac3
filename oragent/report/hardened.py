"""Tests of a run's best program with unusual arguments.

Results are in the run's folder and in the header of the program.
"""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from oragent._base import files
from oragent.evaluation.hardening import HardenedProgram
from oragent.report.held_out import best_text, read_record, write_record
from oragent.search.folder import best_file
from oragent.search.program_header import MARK, format_comments, split_head

FILE = "harden.yaml"
# Beginning of the line in the header of the program.
LABEL = "harden:"


def harden_best(path: Path, harden: Callable[[str], HardenedProgram]) -> HardenedProgram:
    """Test a run's best program. Write ``harden.yaml``, and the outcome into the header of the program."""
    hardened = harden(best_text(path))
    best = best_file(path)
    text = write_head_line(best_text(path), f"{LABEL} {hardened.sentence}")
    files.replace_file(best, text)
    tree = asdict(hardened)
    tree["cases"] = [{**case, "outcome": str(case["outcome"])} for case in tree["cases"]]
    write_record(path, FILE, tree)
    return hardened


def read_hardened(path: Path) -> HardenedProgram | None:
    """Return the stored outcomes for the present best program. None if they are missing or their file is damaged."""
    return read_record(path, FILE, HardenedProgram.from_tree)


def write_head_line(text: str, line: str) -> str:
    """Return a program with a line in its header, which replaces an earlier line with the same label."""
    first, newline, _ = text.partition("\n")
    sign = "//" if first.startswith("//") else "#"
    lines, program = split_head(text)
    if program == text:
        # The file was not written by a run, because it lacks the first line of a run.
        return format_comments([line], sign) + text
    label = line.partition(" ")[0]
    kept: list[str] = []
    is_old = False
    for present in lines:
        # Continued lines are indented.
        is_old = present.startswith(label) or (is_old and present.startswith(" "))
        if not is_old:
            kept.append(f"{sign}{MARK} {present}\n")
    return first + newline + "".join(kept) + format_comments([line], sign) + program
