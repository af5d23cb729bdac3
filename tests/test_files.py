"""Names of files that are made from texts, and files that arguments of commands name."""

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.errors import OragentError
from oragent._base.files import file_stem, open_replacement, read_argument, replace_file
from oragent._base.settings import load_settings_tree
from oragent._base.text_format import shorten
from oragent.cli.runs import steer
from oragent.programs.inspection import read_program
from oragent.programs.syntax import Signature
from oragent.search.strategies import load_strategy

READERS: dict[str, Callable[[Path], object]] = {
    "argument": lambda path: read_argument(path, "a program", 1000),
    "settings": load_settings_tree,
    "program": lambda path: read_program(path, Signature("f", ("x",), "def f(x):")),
    "strategy": load_strategy,
    "steer add": lambda path: steer(path.parent, "add", str(path)),
    "steer answer": lambda path: steer(path.parent, "answer", str(path)),
}


@given(st.text(max_size=100), st.sampled_from([None, 5, 60]), st.booleans())
def test_a_stem_is_one_part_of_a_path_without_dots_at_its_ends(text: str, limit: int | None, each: bool) -> None:
    stem = file_stem(text, "model", limit=limit, each=each)
    assert stem == stem.strip("-.") != ""
    assert all(letter.isalnum() or letter in "_.-" for letter in stem)
    assert stem == "model" or len(stem) <= (limit or len(text))
    assert file_stem(stem, "model", limit=limit, each=each) == stem


@pytest.mark.parametrize(
    ("text", "options", "stem"),
    [
        ("T-P-P aware, qwen:7b", {"each": True}, "T-P-P-aware--qwen-7b"),  # folders of benchmarks are found again by it
        ("T-P-P aware, qwen:7b", {}, "T-P-P-aware-qwen-7b"),
        ("Plan A (new)", {"allowed": "A-Za-z0-9_-"}, "Plan-A-new"),
        ("v1.2", {"allowed": r"\w-"}, "v1-2"),
        ("../..", {"default": "problem"}, "problem"),
    ],
)
def test_stems_of_texts(text: str, options: dict[str, object], stem: str) -> None:
    assert file_stem(text, **options) == stem  # type: ignore[arg-type]


@given(st.text(max_size=30), st.integers(3, 30), st.sampled_from(["", "…", "..."]))
def test_a_text_is_shortened_to_a_width(text: str, width: int, mark: str) -> None:
    shortened = shorten(text, width, mark)
    assert len(shortened) <= width
    assert shortened == text if len(text) <= width else shortened.endswith(mark)


def refusal_of(read: Callable[[Path], object], path: Path) -> str:
    """Return the one line with which a reader refuses a file within a few seconds."""
    said: list[str] = []

    def refuse() -> None:
        try:
            read(path)
        except OragentError as problem:
            said.append(str(problem))

    thread = threading.Thread(target=refuse, daemon=True)
    thread.start()
    thread.join(10)
    assert not thread.is_alive(), "the reader waits for the file"
    assert len(said) == 1
    assert "\n" not in said[0]
    return said[0]


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_a_pipe_is_refused_and_not_waited_for(read: Callable[[Path], object], tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    assert str(tmp_path / "pipe.py") in refusal_of(read, tmp_path / "pipe.py")


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_a_device_and_a_long_file_are_refused(read: Callable[[Path], object], tmp_path: Path) -> None:
    (tmp_path / "device.py").symlink_to("/dev/zero")
    assert str(tmp_path / "device.py") in refusal_of(read, tmp_path / "device.py")
    with (tmp_path / "long.py").open("wb") as file:
        file.truncate(1 << 33)
    assert str(tmp_path / "long.py") in refusal_of(read, tmp_path / "long.py")


def test_an_argument_may_be_a_file_or_a_pipe_of_the_shell(tmp_path: Path) -> None:
    (tmp_path / "plain.txt").write_bytes(b"one\r\ntwo\n")
    assert read_argument(tmp_path / "plain.txt", "a text") == "one\ntwo\n"
    reading, writing = os.pipe()
    with os.fdopen(writing, "w") as pipe:
        pipe.write("from a command")
    try:
        assert read_argument(Path(f"/dev/fd/{reading}"), "a text") == "from a command"
    finally:
        os.close(reading)
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    for path in (tmp_path / "binary", tmp_path / "missing", tmp_path):
        assert str(path) in refusal_of(lambda path: read_argument(path, "a text"), path)


def test_an_error_of_a_replacement_names_the_file_and_not_its_draft(tmp_path: Path) -> None:
    path = tmp_path / "missing" / "model.json"
    with pytest.raises(FileNotFoundError) as of_folder:
        replace_file(path, "{}")
    assert of_folder.value.filename == str(path)
    assert str(of_folder.value).endswith(repr(str(path)))
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(OSError, match="folder") as of_kind:
        replace_file(folder, "{}")
    assert (of_kind.value.filename, of_kind.value.filename2) == (str(folder), None)
    # An error of another file keeps its name.
    with pytest.raises(FileNotFoundError) as of_another, open_replacement(tmp_path / "model.json"):
        (tmp_path / "another").read_text()
    assert of_another.value.filename == str(tmp_path / "another")
    assert list(tmp_path.iterdir()) == [folder]
