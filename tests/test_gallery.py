"""The gallery's pages are what their sources say today."""

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GALLERY = ROOT / "docs" / "problems"
PAGES = runpy.run_path(str(ROOT / "docs" / "tools" / "gallery_pages.py"))["pages"]()


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_made_from_what_the_problem_says_today(name: str) -> None:
    assert (GALLERY / name).read_text() == PAGES[name], "run python docs/tools/make_gallery.py"


def test_there_is_a_page_and_a_picture_for_each_link_and_no_other() -> None:
    assert {path.name for path in GALLERY.glob("*.md")} == set(PAGES)
    pictures = {path.stem for path in (ROOT / "docs" / "images" / "problems").glob("*.png")}
    assert pictures == {Path(name).stem for name in PAGES} - {"README"}


def test_the_table_of_results_links_to_every_page() -> None:
    results = (ROOT / "docs" / "results.md").read_text()
    assert all(f"(problems/{name})" in results for name in PAGES)
