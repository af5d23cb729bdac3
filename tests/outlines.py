"""Outlines of prompts: their sections, figures and size, which hold what a prompt says without its wording.

To write them anew, set ORAGENT_WRITE_GOLDEN and read the difference.
"""

import os
import re
from pathlib import Path

__all__ = ["hold_outline", "read_outlines"]

# A prompt may become this much longer or shorter before its outline is looked at again.
TOLERANCE = 0.1
WORDS = 3
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
FIGURE = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?![\w])")


def outline(prompt: str) -> str:
    """Return size, sections and figures of a prompt in one line.

    A section is a paragraph, by its first words; of paragraphs that begin alike the first is named, with their number.
    Program text counts as its language. Figures are those outside of programs, in their order.
    """
    text = FENCE.sub(lambda block: f"\n\n[{block[1] or 'text'}{' edit' if '<<<<<<<' in block[2] else ''}]\n\n", prompt)
    heads = [" ".join(re.sub(r"[^\w\[\]{}#<>]+", " ", part).split()[:WORDS]) for part in re.split(r"\n\s*\n", text)]
    counts: dict[str, int] = {}
    for head in filter(None, heads):
        key = re.sub(r"\d+", "N", head)
        counts[key] = counts.get(key, 0) + 1
    sections = "; ".join(f"{key} x{count}" if count > 1 else key for key, count in counts.items())
    edits = " <<<" if "<<<<<<< SEARCH" in prompt else ""
    return f"{len(prompt)}{edits} | {sections} | {' '.join(FIGURE.findall(text))}"


def read_outlines(path: Path) -> dict[str, str]:
    """Return the outlines of a file by name."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return dict(line.split(": ", 1) for line in lines)


def hold_outline(path: Path, name: str, prompt: str) -> None:
    """Compare a prompt with its outline in a file."""
    outlines = read_outlines(path)
    current = outline(prompt)
    if os.environ.get("ORAGENT_WRITE_GOLDEN"):
        outlines[name] = current
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(f"{key}: {text}\n" for key, text in sorted(outlines.items())), encoding="utf-8")
        return
    (size, rest), (held_size, held) = current.split(" ", 1), outlines[name].split(" ", 1)
    assert rest == held, name
    assert abs(int(size) - int(held_size)) <= TOLERANCE * int(held_size), name
