"""A file of any origin is read, or refused in one line that begins with its name."""

import gzip
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.errors import ModellingError
from oragent.modelling.files import model_files
from oragent.modelling.files.model_files import read, write
from oragent.modelling.files.model_json import from_json, to_json
from oragent.modelling.files.mps_reader import read_mps
from oragent.modelling.files.solution_json import point_from_json
from oragent.modelling.solving.model_solving import solve
from tests.modelling.models import facts, pharmacy, steel


@pytest.mark.slow
@pytest.mark.parametrize("form", ["json", "mps", "lp"])
def test_what_was_written_reads_back(form: str, tmp_path: Path) -> None:
    write(pharmacy(), tmp_path / f"model.{form}")
    again = read(tmp_path / f"model.{form}")
    assert [one.name for one in again.variable_records] == ["painkillers", "sleeping pills"]
    assert solve(again).objective == 735


def test_json_keeps_everything(tmp_path: Path) -> None:
    write(steel(), tmp_path / "steel3.json")
    assert facts(read(tmp_path / "steel3.json")) == facts(steel())


# Found by cutting files at random: HiGHS 1.15 reads it for ever.
ENDLESS = """NAME
ROWS
 N  Obj
 L  hours
COLUMNS
    tons  Obj  S1::     25
    b         hoX\x96urs     0.007

 LO BOUND     c         750
ENDATA
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("a.json", b"", "a.json: empty"),
        ("a.mps", b" \n", "a.mps: empty"),
        ("a.json", b"\x00\x01\x02", "binary"),
        ("a.lp", b"\x7fELF\x00\x00", "binary"),
        ("a.lp", b"max\n obj: \x81\nst\nend\n", "not a text in UTF-8"),
        ("a.json", b"hello", "not JSON, line 1"),
        ("a.json", b'{"sense": "minimize"}', "has no 'objective'"),
        ("a.mps", b"hello", "not a model in MPS form"),
        ("a.lp", b"hello", "not a model in LP form"),
        ("a.xlsx", b"x", "expected a file that ends in .json, .mps, .lp"),
        ("a\x1b[2J.txt", b"x", "\\u001b"),
    ],
)
def test_what_holds_no_model_is_refused_in_one_line(name: str, content: bytes, complaint: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ModellingError) as refused:
        read(path)
    assert complaint in str(refused.value)
    assert "\n" not in str(refused.value)
    assert "\x1b" not in str(refused.value)


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ModellingError):
        read(tmp_path / "none.json")
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(ModellingError):
        read(tmp_path / "folder.json")


def test_a_huge_file_is_refused_unread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_files, "MAX_BYTES", 10)
    (tmp_path / "a.lp").write_text("max\n obj: x\nst\nend\n")
    with pytest.raises(ModellingError, match="19 bytes; expected at most 10"):
        read(tmp_path / "a.lp")


@pytest.mark.slow
def test_a_file_that_keeps_the_reader_of_highs_busy_for_ever_is_refused_before(tmp_path: Path) -> None:
    (tmp_path / "a.mps").write_text(ENDLESS, encoding="utf-8")
    with pytest.raises(ModellingError, match=r"a\.mps: line \d+: "):
        read(tmp_path / "a.mps")


def test_a_pipe_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.lp")
    with pytest.raises(ModellingError):
        read(tmp_path / "a.lp")


DAMAGED = """NAME mix
ROWS
 N profit
 L saw
 G least
COLUMNS
 M1 'MARKER' 'INTORG'
 table profit 30 saw 2
 table least 1
 chair profit 20 saw 1
 M2 'MARKER' 'INTEND'
RHS
 RHS saw 40 least 3
BOUNDS
 UP BND chair 12
 UP BND table 9
ENDATA
"""


def test_only_known_forms_are_written(tmp_path: Path) -> None:
    with pytest.raises(ModellingError, match=r"expected a file that ends in \.json"):
        write(steel(), tmp_path / "a.txt")


@pytest.mark.slow
@given(st.data())
def test_damage_of_any_kind_is_read_or_refused_in_one_line(data: st.DataObject) -> None:
    """Cut, doubled and foreign parts of a file in each form."""
    text = data.draw(st.sampled_from([DAMAGED, to_json(steel())]))
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 40)))
        text = text[:start] + data.draw(st.one_of(st.text(max_size=9), st.just(text[start:end] * 2))) + text[end:]
    for check in (read_mps, from_json, point_from_json):
        complaint = ""
        try:
            check(text)
        except ModellingError as problem:
            complaint = str(problem)
        assert "\n" not in complaint


def test_lp_names_may_have_slashes_beside_a_divided_square(tmp_path: Path) -> None:
    (tmp_path / "model.lp").write_text("min\n obj: 2 x/a + y[1/b] + [ x/a^2 ]/2\nst\n c/1: x/a + y == 2\nend\n")
    model = read(tmp_path / "model.lp")
    assert [one.name for one in model.variable_records] == ["x/a", "y[1/b]", "y"]
    assert [one.name for one in model.row_records] == ["c/1"]
    # x = 0 and y = 2 satisfy the row; y[1/b] = 0.
    assert solve(model).objective == pytest.approx(0)


@pytest.mark.parametrize(
    ("content", "is_text"),
    [
        (b"Minimize", True), (b"\xef\xbb\xbfMin", True), ("Größe".encode("cp1252"), True), ("x0".encode("utf-16"), True),
        ("x0 model".encode("utf-16-le"), True), (b"\x90\x81", True), (b"x\0\0", False), (b"ab\0\0\0cd\0", False), (b" \n", False),
    ],
)  # fmt: skip
def test_binary_and_empty_files_are_no_texts(content: bytes, is_text: bool, tmp_path: Path) -> None:
    path = tmp_path / "m.lp"
    path.write_bytes(content)
    if is_text:
        assert model_files.read_bytes(path, "a model") == content
    else:
        with pytest.raises(ModellingError):
            model_files.read_bytes(path, "a model")


def test_a_file_may_have_the_largest_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, content in (("m.lp", b"Minimize\n"), ("m.lp.gz", gzip.compress(b"Minimize\n" * 50))):
        path = tmp_path / name
        path.write_bytes(content)
        size = max(path.stat().st_size, 450 if name.endswith("gz") else 0)
        for most, is_read in ((size, True), (size - 1, False)):
            monkeypatch.setattr(model_files, "MAX_BYTES", most)
            if is_read:
                assert model_files.read_bytes(path, "a model").startswith(b"Minimize")
            else:
                with pytest.raises(ModellingError):
                    model_files.read_bytes(path, "a model")


def test_a_packed_file_has_no_time_so_that_equal_models_have_equal_files(tmp_path: Path) -> None:
    write(steel(), tmp_path / "model.lp.gz")
    # Bytes 4 to 7 are the time of the file (RFC 1952).
    assert (tmp_path / "model.lp.gz").read_bytes()[4:8] == bytes(4)


def test_a_table_of_values_has_lines_of_unix(tmp_path: Path) -> None:
    model_files.write_solution(steel(), solve(steel()), tmp_path / "plan.csv")
    lines = (tmp_path / "plan.csv").read_bytes().split(b"\n")
    assert lines[0] == b"variable,value,unit"
    assert lines[1] == b"bands,6000.0,tons"
    assert (len(lines), lines[-1]) == (5, b"")
