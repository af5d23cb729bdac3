"""A stranger's folder is written and read through open folders alone: what it left leads nowhere else."""

import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent.sandbox.folders import _matches_pattern as matches  # what patterns mean is too fine to be tried with files
from oragent.sandbox.folders import bring_files, open_folder, write_file


def taken(folder: Path, *patterns: str, room: int = 1 << 20) -> tuple[dict[str, bytes], dict[str, str]]:
    with open_folder(folder) as place:
        return bring_files(place, patterns, room)


def write_all(place: int, files: dict[str, str]) -> None:
    for name, text in files.items():
        write_file(place, name, 0o755, lambda target, text=text: os.write(target, text.encode()))


def put(folder: Path, **files: str) -> None:
    with open_folder(folder) as place:
        write_all(place, files)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "folder"
    made.mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "kept").write_text("good")
    return made


def test_files_are_written_whole_and_can_be_executed(folder: Path) -> None:
    with open_folder(folder) as place:
        write_all(place, {"a.txt": "ä", "in/deep/b.sh": "#!/bin/sh"})
        write_all(place, {"a.txt": "again"})
    assert (folder / "a.txt").read_text() == "again"
    assert os.access(folder / "in" / "deep" / "b.sh", os.X_OK)


@pytest.mark.parametrize("kind", ["symbolic", "hard"])
def test_a_link_with_a_files_name_is_replaced_and_not_followed(folder: Path, tmp_path: Path, kind: str) -> None:
    target = tmp_path / "outside" / "kept"
    (os.symlink if kind == "symbolic" else os.link)(target, folder / "m")
    put(folder, m="new")
    assert target.read_text() == "good"
    assert (folder / "m").read_text() == "new"


def test_a_link_in_place_of_a_folder_is_not_gone_through(folder: Path, tmp_path: Path) -> None:
    (folder / "in").symlink_to(tmp_path / "outside")
    with open_folder(folder) as place, pytest.raises(OSError, match=r"Not a directory|Too many levels"):
        write_all(place, {"in/kept": "bad"})
    assert (tmp_path / "outside" / "kept").read_text() == "good"
    assert taken(folder, "*") == ({}, {"in": "it is a link"})


def test_links_devices_and_odd_names_are_left_where_they_are(folder: Path, tmp_path: Path) -> None:
    (folder / "plain").write_text("yes")
    (folder / "symbolic").symlink_to(tmp_path / "outside" / "kept")
    os.link(tmp_path / "outside" / "kept", folder / "hard")
    os.mkfifo(folder / "pipe")
    (folder / "odd\x1b[31m").write_text("no")
    (folder / os.fsdecode(b"\xff")).write_text("no")
    found, left_out = taken(folder, "*")
    assert found == {"plain": b"yes"}
    assert left_out == {
        "hard": "it is a link",
        "symbolic": "it is a link",
        "pipe": "it is not a regular file",
        "odd\\x1b[31m": "its name has characters that cannot be shown",
        "\\udcff": "its name has characters that cannot be shown",
    }


def test_what_is_brought_is_bounded_in_all(folder: Path) -> None:
    for name in "abc":
        (folder / name).write_bytes(bytes(40))
    found, left_out = taken(folder, "*", room=100)
    assert sorted(found) == ["a", "b"]
    assert left_out == {"c": "it has 40 bytes, and only 20 more may be brought back"}


def test_a_flood_of_files_ends_somewhere(folder: Path) -> None:
    for number in range(1005):
        (folder / f"f{number:04}").touch()
    found, left_out = taken(folder, "*")
    assert (len(found), list(left_out)) == (1000, ["..."])


def test_folders_without_end_are_looked_into_up_to_a_depth(folder: Path) -> None:
    inner = folder.joinpath(*["d"] * 40)
    inner.mkdir(parents=True)
    (inner / "f").write_text("too deep")
    (folder / "d" / "f").write_text("found")
    assert taken(folder, "/".join(["*"] * 41)) == ({}, {})
    assert taken(folder, "*/f") == ({"d/f": b"found"}, {})


@pytest.mark.parametrize(
    ("pattern", "name", "told"),
    [
        ("*.csv", "a.csv", True), ("*.csv", "in/a.csv", False), ("in/*", "in/a", True), ("in/*", "out/a", False),
        ("a?", "ab", True), ("a?", "a/", False), ("in/*/a", "in/b/a", True), ("in/*/a", "in/b/c/a", False),
    ],
)  # fmt: skip
def test_a_pattern_means_parts_of_a_path(pattern: str, name: str, told: bool) -> None:
    assert matches(name.split("/"), pattern.split("/")) is told


@given(
    st.lists(st.sampled_from(["a", "b", "*"]), min_size=1, max_size=6),
    st.lists(st.sampled_from("ab"), max_size=7),
)
def test_a_pattern_means_what_its_regular_expression_does(way: list[str], names: list[str]) -> None:
    parts = {"*": "[^/]*/", "a": "a/", "b": "b/"}
    expected = re.fullmatch("".join(parts[part] for part in way), "".join(f"{name}/" for name in names))
    assert matches(names, way) is bool(expected)
