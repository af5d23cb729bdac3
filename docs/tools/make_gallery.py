"""Make ``docs/problems/``: a page for each classical problem.

python docs/tools/make_gallery.py             # the pages; a test holds them to what they are made from
python docs/tools/make_gallery.py --pictures  # the pictures too
python docs/tools/make_gallery.py --measure   # what an evaluation of the seed finds and costs, too
"""

import sys

import gallery_figures
import gallery_pictures
from gallery_pages import FIGURES, GALLERY, ROOT, SOLVERS, pages


def main(flags: list[str]) -> None:
    """Write the gallery."""
    if unknown := set(flags) - {"--pictures", "--measure"}:
        sys.exit(f"unknown option {min(unknown)}: there are --pictures and --measure")
    if "--measure" in flags:
        FIGURES.write_text(gallery_figures.measure(list(SOLVERS)))
    if "--pictures" in flags:
        for name in SOLVERS:
            gallery_pictures.draw(name, ROOT / "docs" / "images" / "problems")
    for name, text in pages().items():
        (GALLERY / name).write_text(text)


if __name__ == "__main__":
    main(sys.argv[1:])
