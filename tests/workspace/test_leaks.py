"""Labels are found by name, content, sentence and value, wherever they are put."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent.workspace.layout import sha256_of
from oragent_benchmarks.workspace.importing import read_release
from oragent_benchmarks.workspace.views import HiddenLabels, Trace, search_labels
from tests.workspace.release import PUBLIC, needs_release

SECRET = "The second oven is worth 17 EUR an hour."
LABELS = HiddenLabels(hashes=frozenset({sha256_of(b"labels\n")}), sentences={"q1.c2": SECRET, "q1.c3": "short"},
                values={"b1": -731284.5, "b2": 40.0})  # fmt: skip


def traces(folder: Path, path: str, content: str) -> list[tuple[Trace, str, bool]]:
    place = folder / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(content)
    found = [(leak.trace, leak.label, leak.certain) for leak in search_labels(folder, LABELS) if leak.path == path]
    place.unlink()
    return found


@pytest.mark.parametrize(
    ("path", "content", "expected"),
    [
        ("a.md", "nothing here, short", []),
        ("deep/er/Rubrics.JSONL", "", [(Trace.NAME, "rubrics.jsonl", True)]),
        ("a.csv", "labels\n", [(Trace.CONTENT, sha256_of(b"labels\n")[:12], True)]),
        ("a.md", "x the SECOND\n oven is  worth `17` EUR an hour. y", [(Trace.SENTENCE, "q1.c2", True)]),
        ("a.csv", "limit,\"731,284.5\"\n", [(Trace.VALUE, "b1", True)]),
        ("a.csv", "limit,-731284.50\n", [(Trace.VALUE, "b1", True)]),
        ("a.csv", "limit,7.312845e5\n", [(Trace.VALUE, "b1", True)]),
        ("a.csv", "limit,40\n", [(Trace.VALUE, "b2", False)]),  # by chance, perhaps
        ("a.csv", "limit,731285\nlimit,140\n", []),
    ],
)  # fmt: skip
def test_each_trace_is_found(tmp_path: Path, path: str, content: str, expected: list) -> None:
    assert traces(tmp_path, path, content) == expected


@given(st.text(max_size=30), st.text(max_size=30))
def test_a_sentence_is_found_in_any_company(tmp_path_factory: pytest.TempPathFactory, before: str, after: str) -> None:
    folder = tmp_path_factory.mktemp("leaks")
    (folder / "a.md").write_bytes(f"{before} {SECRET} {after}".encode("utf-8", "surrogatepass"))
    assert Trace.SENTENCE in {leak.trace for leak in search_labels(folder, LABELS)}


@pytest.mark.slow
@needs_release
def test_the_release_s_own_workspaces_hold_no_label_but_chance_values() -> None:
    release = read_release(PUBLIC)
    found = []
    for mode, number in release.workspaces:
        folder = PUBLIC / "Workspace_OR" / f"{mode}_workspaces" / f"instance_{number}"
        found += search_labels(folder, release.labels_of(mode, number))
    assert [leak for leak in found if leak.certain] == []
    assert len(found) == 13
    assert {leak.trace for leak in found} == {Trace.VALUE}
