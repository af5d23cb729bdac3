"""Files of others are read within bounds, or refused in one line."""

import csv
import os
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.errors import WorkspaceError
from oragent.workspace import reading
from oragent.workspace.reading import check_inside, check_new_path, finite_number, is_ignored, read_bytes, read_json
from oragent.workspace.tables import CsvTable, column_unit, read_row_dicts, write_table
from oragent_benchmarks.workspace.rubric import read_jsonl


def test_files_come_in_alphabetical_order_with_slashes(tmp_path: Path) -> None:
    for name in ("b/z.txt", "b/a.txt", "a.txt", "b.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    assert list(reading.list_files(tmp_path)) == ["a.txt", "b.txt", "b/a.txt", "b/z.txt"]
    # Of several links, the first one is named.
    for number in random.Random(5).sample(range(10, 40), 30):
        (tmp_path / f"link{number}").symlink_to(tmp_path)
    with pytest.raises(WorkspaceError, match="link10"):
        reading.list_files(tmp_path)


@pytest.mark.parametrize("target", ["file", "folder", "nowhere"])
def test_links_are_refused_wherever_they_lead(tmp_path: Path, target: str) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "file").write_text("secret")
    (tmp_path / "folder").mkdir()
    (tmp_path / "work" / "link").symlink_to(tmp_path / target)
    with pytest.raises(WorkspaceError, match="is a link"):
        reading.list_files(tmp_path / "work")


def test_a_link_is_not_followed_when_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("secret")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    with pytest.raises(WorkspaceError):
        reading.read_bytes(tmp_path / "link")


def test_a_pipe_is_refused_and_never_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(WorkspaceError):
        reading.list_files(tmp_path)
    with pytest.raises(WorkspaceError):
        reading.read_bytes(tmp_path / "pipe")
    with pytest.raises(WorkspaceError):
        reading.read_bytes(Path("/dev/zero"))


def test_a_file_too_large_is_refused_before_it_is_read(tmp_path: Path) -> None:
    with (tmp_path / "huge.csv").open("wb") as file:
        file.truncate(2 << 30)  # two gigabytes that take no room
    with pytest.raises(WorkspaceError, match="larger than 256 MiB"):
        reading.read_text(tmp_path / "huge.csv")


def test_folders_nested_too_deeply_and_too_many_files_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = tmp_path.joinpath("deep", *["d"] * 40)
    deep.mkdir(parents=True)
    with pytest.raises(WorkspaceError):
        reading.list_files(tmp_path / "deep")
    assert reading.list_files(tmp_path.joinpath("deep", *["d"] * (40 - reading.MAX_DEPTH))) == {}
    with pytest.raises(WorkspaceError):
        reading.list_files(tmp_path.joinpath("deep", *["d"] * (39 - reading.MAX_DEPTH)))
    monkeypatch.setattr(reading, "MAX_FILES", 3)
    (tmp_path / "many").mkdir()
    for number in range(4):
        assert len(reading.list_files(tmp_path / "many")) == number
        (tmp_path / "many" / str(number)).touch()
    with pytest.raises(WorkspaceError, match="more than 3 files"):
        reading.list_files(tmp_path / "many")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252", "latin-1"])
def test_a_text_is_read_in_its_encoding_and_a_new_one_written_so(encoding: str) -> None:
    text = "Kühlung;Stück (€)\r\n".replace("€" if encoding == "latin-1" else "\0", "EUR")
    content = text.encode(encoding)
    assert reading.decode_text(content, "notes.md") == text
    assert reading.encode_like(text, content) == content
    assert reading.decode_text(reading.encode_like("Öfen", content), "notes.md") == "Öfen"


@pytest.mark.parametrize("mark", ["utf-16-le", "utf-16-be"])
def test_the_byte_order_of_a_file_stays(mark: str) -> None:
    new = reading.encode_like("Öfen", "\ufeffKühlung".encode(mark))
    assert new == "\ufeffÖfen".encode(mark)


def test_a_text_that_the_old_encoding_lacks_is_written_in_utf_8() -> None:
    assert reading.encode_like("Kühlung – 冷却", "Kühlung".encode("cp1252")) == "Kühlung – 冷却".encode()


@pytest.mark.parametrize(
    ("content", "complaint"),
    [(b"zero\0byte", "zero bytes"), (b"\x89PNG\r\n\x1a\n\xff", "not a text"), (b"\xff\xfe\x00", "no text|zero bytes")],
)
def test_what_is_no_text_is_refused(content: bytes, complaint: str) -> None:
    with pytest.raises(WorkspaceError, match=complaint):
        reading.decode_text(content, "notes.md")


def test_a_text_may_have_the_name_of_a_workbook() -> None:
    assert reading.decode_text(b"a,b\n1,2\n", "t.xlsx") == "a,b\n1,2\n"


def test_a_byte_order_mark_of_utf_8_is_dropped() -> None:
    assert reading.decode_text(b"\xef\xbb\xbfa,b", "t.csv") == "a,b"


@pytest.mark.parametrize("text", ["{", "NaN", '{"a": Infinity}', "[" * 100_000, "9" * 5_000, ""])
def test_what_is_not_json_is_said_in_one_line(text: str) -> None:
    with pytest.raises(WorkspaceError) as raised:
        reading.parse_json(text, "labels.json")
    assert str(raised.value).startswith("labels.json ")
    assert "\n" not in str(raised.value)


def test_lines_of_json_carry_their_place(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"a": 1}\n\n{"b": "line\u2028separator"}\n')
    assert [(place.rpartition(":")[2], row) for place, row in read_jsonl(path)] == [
        ("1", {"a": 1}),
        ("3", {"b": "line\u2028separator"}),
    ]
    path.write_text('{"a": 1}\n[2]\n')
    with pytest.raises(WorkspaceError, match=r"rows\.jsonl:2 contains a list"):
        read_jsonl(path)
    path.write_text("3")
    with pytest.raises(WorkspaceError):
        reading.read_json(path)


@given(st.text(), st.integers(2, 90))
def test_of_a_long_name_the_end_is_kept(text: str, limit: int) -> None:
    name = reading.shorten_path(f"{text}/rows.jsonl:7", limit)
    assert name.isprintable()
    assert len(name) == min(limit, len(text) + 13)
    assert name.endswith("/rows.jsonl:7"[-limit + 1 :])


@given(st.text(), st.integers(2, 90))
def test_what_is_shown_is_one_short_printable_line(text: str, limit: int) -> None:
    plain = reading.shorten(text, limit)
    assert plain.isprintable()
    assert len(plain) <= limit
    assert plain == text or len(text) > limit or not text.isprintable()


@pytest.mark.parametrize(
    ("text", "limit", "start", "end"),
    [("abcde", 5, "abcde", "abcde"), ("abcdef", 5, "abcd…", "…cdef"), ("a\nb\x1bc", 9, "a·b·c", "a·b·c"), ("ab", 1, "…", "…ab")],
)  # fmt: skip
def test_a_text_is_shortened_by_as_few_letters_as_necessary(text: str, limit: int, start: str, end: str) -> None:
    assert reading.shorten(text, limit) == start
    if limit > 1:
        assert reading.shorten_path(text, limit) == end


@pytest.mark.parametrize(
    ("path", "is_fine"),
    [
        ("a.py", True), ("./src/a.py", True), ("a/b/c.csv", True), ("x" * 200, True), ("/".join("a" * 17), True), ("ä" * 100, True),
        ("console.py", True), ("com.py", True),
        ("", False), ("/a", False), ("a//b", False), ("a/../b", False), ("a/./b", False), ("a\nb", False), ("x" * 201, False),
        ("/".join("a" * 18), False), ("ä" * 101, False), ("con", False), ("CON.txt", False), ("lpt1.csv", False), ("a.", False),
        ("a ", False), ("a:b", False), ("a\\b", False), (".git/x", False), ("src/.hidden", False), ("~$a.xlsx", False),
        ("/".join(["y" * 99] * 9 + ["y" * 100]), True), ("/".join(["y" * 99] * 8 + ["y" * 100] * 2), False), ("a/" + "x" * 201, False), ("x" * 201 + "/a", False),
        ("node_modules/a", False), ("/".join(["y" * 100] * 10), False), ("/".join(["y" * 99] * 10), True),
    ],
)  # fmt: skip
def test_a_new_file_has_a_name_that_works_everywhere(path: str, is_fine: bool) -> None:
    if is_fine:
        assert check_new_path(path) == path.removeprefix("./")
    else:
        with pytest.raises(WorkspaceError):
            check_new_path(path)


@pytest.mark.parametrize(
    ("path", "is_inside"), [("a/b", True), ("a..b", True), ("..", False), ("a/../b", False), ("/a", False), ("", False)]
)
def test_a_path_stays_below_its_folder(path: str, is_inside: bool) -> None:
    if is_inside:
        check_inside(path)
    else:
        with pytest.raises(WorkspaceError):
            check_inside(path)


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (3, 3.0),
        (2.5, 2.5),
        (True, None),
        ("3", None),
        (None, None),
        (float("nan"), None),
        (float("inf"), None),
        (10**400, None),
        (0, 0.0),
    ],
)
def test_a_finite_number_of_json(value: object, number: float | None) -> None:
    assert finite_number(value) == number


def test_a_file_of_exactly_the_limit_is_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12345")
    assert read_bytes(tmp_path / "a", 5) == b"12345"
    with pytest.raises(WorkspaceError):
        read_bytes(tmp_path / "a", 4)
    # A file whose size is not known before it is read.
    sizeless = Path("/proc/version")
    if sizeless.exists():
        content = read_bytes(sizeless)
        assert read_bytes(sizeless, len(content)) == content
        with pytest.raises(WorkspaceError):
            read_bytes(sizeless, len(content) - 1)
    assert (is_ignored(".x"), is_ignored("__pycache__"), is_ignored("~$b.xlsx"), is_ignored("b.xlsx")) == (
        True,
        True,
        True,
        False,
    )
    with pytest.raises(WorkspaceError):
        read_json(tmp_path / "a")
    (tmp_path / "b.json").write_text('{"a": 1}')
    assert read_json(tmp_path / "b.json") == {"a": 1}


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("price (EUR)", "EUR"),
        ("price [EUR/t]", "EUR/t"),
        ("hours", None),
        ("name", None),
        ("demand_kg", "kg"),
        ("demand kg", "kg"),
        ("kg", None),
    ],
)
def test_the_unit_of_a_column_is_in_brackets_or_its_last_word(name: str, unit: str | None) -> None:
    assert column_unit(name) == unit


def test_rows_of_a_file_come_as_dictionaries(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("name; price \n rye ;4,5\noat;3\n")
    assert read_row_dicts(tmp_path / "a.csv") == [{"name": "rye", "price": "4.5"}, {"name": "oat", "price": "3"}]
    (tmp_path / "b.csv").write_text("name,price\n")
    assert read_row_dicts(tmp_path / "b.csv") == []
    for text in ("", "name,price\nrye\n"):
        (tmp_path / "c.csv").write_text(text)
        with pytest.raises(WorkspaceError):
            read_row_dicts(tmp_path / "c.csv")
    # A CSV file has no sheets.
    assert read_row_dicts(tmp_path / "a.csv", "Any")[0]["name"] == "rye"
    table = CsvTable(("a", "b, c"), (("x", '1"2'), ("line\nfeed", " y")))
    (tmp_path / "d.csv").write_text(write_table(table))
    with (tmp_path / "d.csv").open(newline="") as file:
        assert [tuple(row) for row in csv.reader(file)] == [table.header, *table.rows]


def test_rows_of_a_named_sheet_come_as_dictionaries(tmp_path: Path) -> None:
    book = pytest.importorskip("openpyxl").Workbook()
    for title, price in (("One", 4), ("Two", 5)):
        for row in (("name", "price"), ("rye", price)):
            (book[title] if title in book.sheetnames else book.create_sheet(title)).append(row)
    del book["Sheet"]
    book.save(tmp_path / "a.xlsx")
    for sheet, price in (("", "4"), ("One", "4"), ("Two", "5")):
        assert read_row_dicts(tmp_path / "a.xlsx", sheet) == [{"name": "rye", "price": price}]
    with pytest.raises(WorkspaceError):
        read_row_dicts(tmp_path / "a.xlsx", "Three")
