"""Values that every package uses, at the ends of their ranges: files, disks, texts, frames, literals, YAML, quantiles."""

import ast
import errno
import io
import json
import os
import string
from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t as student

from oragent._base import files
from oragent._base.errors import FullDiskError, StoreError
from oragent._base.files import (
    expect_no_links,
    first_link,
    name_disk_errors,
    network_file_system,
    read_bounded,
    read_bounded_bytes,
    remove_files,
)
from oragent._base.frames import pack_message, take_body
from oragent._base.literals import MAX_CHARACTERS, read_literal
from oragent._base.racing import _student_quantile
from oragent._base.safe_load import MAX_DEPTH, parse_json, parse_yaml
from oragent._base.spreadsheets import column_number, read_workbook, workbook_text
from oragent._base.text_format import format_count, join_some, one_line, shorten, shorten_middle


@pytest.mark.parametrize("read", [read_bounded, read_bounded_bytes])
@pytest.mark.parametrize(("size", "is_read"), [(0, True), (9, True), (10, True), (11, False)])
def test_a_file_of_exactly_the_limit_is_read(read: Callable, size: int, is_read: bool, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * size)
    if is_read:
        assert len(read(path, 10)) == size
    else:
        with pytest.raises(OSError, match="bytes"):
            read(path, 10)


@pytest.mark.parametrize(
    ("mounts", "kind"),
    [
        # The longest mount point above the folder counts, in whatever order they are listed.
        (["/ ext4", "{top} nfs4"], "nfs4"),
        (["{top} nfs4", "/ ext4"], "nfs4"),
        (["/ nfs4", "{top} ext4"], ""),
        (["{top} ext4", "/ nfs4"], ""),
        # Of two at one point the later one hides the other.
        (["{top} ext4", "{top} cifs"], "cifs"),
        (["{top} cifs", "{top} ext4"], ""),
        # A longer path beside the folder does not count, nor one that only begins alike.
        (["/ ext4", "{top}/elsewhere/deep/er nfs"], ""),
        (["/ ext4", "{top}x nfs"], ""),
        (["/ ext4", "broken", "", "{top} fuse.sshfs"], "fuse.sshfs"),
        (["/ overlay"], ""),
        ([], ""),
    ],
)
def test_the_file_system_of_a_folder_is_that_of_its_mount_point(mounts: list[str], kind: str, tmp_path: Path) -> None:
    top = tmp_path / "a b"
    (top / "run").mkdir(parents=True)
    escaped = str(top).replace(" ", "\\040")
    table = tmp_path / "mounts"
    table.write_text("".join(f"device {line.format(top=escaped)} rw 0 0\n" for line in mounts))
    # A name in another encoding says nothing about the others.
    table.write_bytes(b"device /\xff ext4 rw 0 0\n" + table.read_bytes())
    assert network_file_system(top / "run", table) == kind
    assert network_file_system(top / "run", tmp_path / "none") == ""


def test_links_are_found_below_a_folder_only(tmp_path: Path) -> None:
    (tmp_path / "real" / "deep").mkdir(parents=True)
    (tmp_path / "real" / "file").write_text("")
    root = tmp_path / "root"
    root.symlink_to(tmp_path / "real")
    assert first_link(root, root / "deep" / "x") is None
    expect_no_links(tmp_path / "real")
    (tmp_path / "real" / "deep" / "link").symlink_to(tmp_path)
    assert first_link(root, root / "deep" / "link" / "x") == root / "deep" / "link"
    with pytest.raises(StoreError):
        expect_no_links(tmp_path / "real")


def test_named_files_are_removed_and_the_folder_if_it_is_empty(tmp_path: Path) -> None:
    for names, stays in ((["a", "b"], False), (["a", "missing"], True)):
        folder = tmp_path / f"folder {stays}"
        folder.mkdir()
        for name in "ab":
            (folder / name).write_text("")
        remove_files(folder, names)
        assert folder.exists() is stays
    assert [path.name for path in (tmp_path / "folder True").iterdir()] == ["b"]
    (tmp_path / "link").symlink_to(tmp_path / "folder True")
    with pytest.raises(OSError, match="link"):
        remove_files(tmp_path / "link", ["b"])


@pytest.mark.parametrize(
    ("number", "kind"), [(errno.ENOSPC, FullDiskError), (errno.EDQUOT, FullDiskError), (errno.EACCES, StoreError)]
)
def test_a_full_disk_is_an_error_of_its_own(number: int, kind: type[StoreError], tmp_path: Path) -> None:
    with pytest.raises(StoreError) as caught, name_disk_errors(tmp_path):
        raise OSError(number, os.strerror(number))
    assert type(caught.value) is kind


@pytest.mark.parametrize(("free_mb", "blocks", "is_enough"), [(2.9, 10, False), (3.0, 10, True), (0.0, 0, True)])
def test_a_disk_has_room_from_three_megabytes(
    free_mb: float, blocks: int, is_enough: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    disk = type("Disk", (), {"f_bavail": round(free_mb * 256), "f_frsize": 4096, "f_blocks": blocks})
    monkeypatch.setattr(files.os, "statvfs", lambda path: disk)
    if is_enough:
        files.expect_room(tmp_path / "new" / "folder")
    else:
        with pytest.raises(StoreError):
            files.expect_room(tmp_path / "new" / "folder")


@given(text=st.text(alphabet="ab c\n\t", max_size=30), width=st.integers(3, 12))
def test_texts_are_cut_to_a_width(text: str, width: int) -> None:
    cut = shorten(text, width)
    assert len(cut) <= width
    assert cut == text if len(text) <= width else cut[:-1] == text[: width - 1]
    line = one_line(text, width)
    assert len(line) <= width
    assert "\n" not in line


@given(text=st.text(max_size=30), head=st.integers(1, 9), tail=st.integers(1, 9))
def test_the_middle_of_a_text_is_counted(text: str, head: int, tail: int) -> None:
    cut = shorten_middle(text, head, tail)
    if len(text) <= head + tail:
        assert cut == text
    else:
        assert cut.startswith(text[:head] + "\n")
        assert cut.endswith("\n" + text[-tail:])
        assert f"{len(text) - head - tail:,} " in cut[head : len(cut) - tail]


@pytest.mark.parametrize(("number", "text"), [(0, "0 runs"), (1, "1 run"), (2, "2 runs"), (1200, "1,200 runs")])
def test_counts_have_their_noun(number: int, text: str) -> None:
    assert format_count(number, "run") == text


@pytest.mark.parametrize(
    ("limit", "text"), [(1, "a and 2 more"), (2, "a, b and 1 more"), (3, "a, b, c"), (4, "a, b, c")]
)
def test_the_rest_of_a_list_is_counted(limit: int, text: str) -> None:
    assert join_some(["a", "b", "c"], limit) == text


@given(messages=st.lists(st.dictionaries(st.text(max_size=3), st.integers()), max_size=4), cut=st.integers(1, 9))
def test_frames_are_taken_from_a_buffer_when_they_are_complete(messages: list[dict], cut: int) -> None:
    stream = b"".join(map(pack_message, messages))
    buffer, taken = bytearray(), []
    for at in range(0, len(stream), cut):
        buffer += stream[at : at + cut]
        while (body := take_body(buffer)) is not None:
            taken.append(json.loads(body))
    assert taken == messages
    assert not buffer


def test_a_literal_of_exactly_the_limit_is_read() -> None:
    assert read_literal("'" + "a" * (MAX_CHARACTERS - 2) + "'") == "a" * (MAX_CHARACTERS - 2)


@pytest.mark.parametrize("text", ["(1)\n+ 2j", "[1]\n,", "'a'\n'b'", "('a')\n'b'", "{1: 2}\n3", "1,\n2", "-\n1"])
def test_a_literal_ends_with_its_line_outside_of_brackets(text: str) -> None:
    with pytest.raises(SyntaxError):
        ast.parse(text, mode="eval")
    with pytest.raises(ValueError, match=r"."):
        read_literal(text)


@pytest.mark.parametrize(
    "text", ["(1\n+ 2j)", "[1\n,]", "('a'\n'b')", "{1:\n2}", "(1,\n2)", "(-\n1)", "[(1,\n2),\n(3,)]\n"]
)
def test_a_literal_goes_on_within_brackets(text: str) -> None:
    assert read_literal(text) == ast.literal_eval(text)


@pytest.mark.parametrize(
    ("text", "is_read"),
    [
        ("[" * MAX_DEPTH + "]" * MAX_DEPTH, True),
        ("[" * (MAX_DEPTH + 3) + "]" * (MAX_DEPTH + 3), False),
        ("a: [*b]", False),
        ("a: &a [*a]", False),
        ("a: " + "9" * 400, False),
        ("9" * 400 + ": 1", False),
        ("'" + "9" * 400 + "': 1", True),
        ("a: '" + "9" * 400 + "'", True),
        ("a: " + "x" * 400, True),
        ("a: 1\nb: " + "9" * 400, False),
        ("1: a\n" + "2" * 18 + ": b", True),
        ("1: " + "2" * 18, True),
    ],
)
def test_a_small_text_within_the_limits_is_read_and_another_is_not(text: str, is_read: bool) -> None:
    if is_read:
        assert parse_yaml(text) == yaml.safe_load(text)
    else:
        with pytest.raises(yaml.YAMLError):
            parse_yaml(text)


@pytest.mark.parametrize(("depth", "is_read"), [(MAX_DEPTH - 1, True), (MAX_DEPTH + 1, False)])
def test_the_depth_of_json_has_the_same_limit(depth: int, is_read: bool) -> None:
    text = "[" * depth + "1" + "]" * depth
    if is_read:
        assert parse_json(text)
    else:
        with pytest.raises(ValueError, match=r"."):
            parse_json(text)
    assert parse_json("[1]", 3) == [1]
    with pytest.raises(ValueError, match=r"."):
        parse_json("[1]", 2)


@pytest.mark.parametrize("probability", [0.6, 0.9, 0.975, 0.999])
@pytest.mark.parametrize("freedom", [20, 50, 200])
def test_quantiles_of_student_are_exact_up_to_the_fifth_power(probability: float, freedom: int) -> None:
    # The expansion leaves out terms from the fifth power of the freedom on.
    error = _student_quantile(probability, freedom) - student.ppf(probability, freedom)
    assert abs(error) < 60 / freedom**5 + 1e-13


@given(at=st.integers(0, 20_000))
def test_columns_of_a_workbook_are_counted_as_it_does(at: int) -> None:
    letters, rest = "", at + 1
    while rest:
        rest, digit = divmod(rest - 1, 26)
        letters = string.ascii_uppercase[digit] + letters
    assert column_number(letters.encode()) == at


def test_cells_of_a_workbook_are_texts_that_python_reads_back() -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    values = ["a", 2, 2.0, -0.5, 1e16, True, False, None, date(2026, 1, 2), datetime(2026, 1, 2, 3, 4, 5), "two\nlines"]
    book.active.append([f"c{at}" for at in range(len(values))])
    book.active.append(values)
    content = io.BytesIO()
    book.save(content)
    row = workbook_text(content.getvalue()).splitlines()[-1]
    expected = ["a", "2", "2", "-0.5", "1e+16", "TRUE", "FALSE", "", "2026-01-02", "2026-01-02 03:04:05", "two lines"]
    assert row == ",".join(expected)
    assert read_workbook(content.getvalue())
