"""Without matplotlib, pages are written with a line in place of each chart."""

import sys
from pathlib import Path

import pytest

from oragent.report.pages.charts import Drawing, explain_missing_charts, render_figure, save_page


def test_a_line_takes_the_place_of_a_chart(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    missing = explain_missing_charts()
    assert len(missing.splitlines()) == 1

    def draw() -> None:
        raise AssertionError("nothing is drawn")

    drawing = render_figure("finals", "Caption", draw)  # type: ignore[arg-type]
    assert drawing.caption == "Caption"
    assert drawing.svg.startswith("<p>")
    save_page(tmp_path, [drawing, Drawing("drawn", "", "<svg/>", b"png")], "<p>page</p>")
    assert (tmp_path / "report.html").read_text() == "<p>page</p>"
    files = {path.name: path.read_bytes() for path in (tmp_path / "figures").iterdir()}
    assert files == {"drawn.svg": b"<svg/>", "drawn.png": b"png"}


def test_charts_are_drawn_with_matplotlib() -> None:
    pytest.importorskip("matplotlib")
    assert explain_missing_charts() == ""
