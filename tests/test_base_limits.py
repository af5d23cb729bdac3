"""Limits and forms of untrusted values: result blocks, settings, JSON, YAML, files, texts."""

import json
import os
import time
from collections.abc import Callable
from dataclasses import field
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic.dataclasses import dataclass

from oragent._base import distribution, files, protocol, safe_load
from oragent._base.direction import Direction
from oragent._base.errors import ConfigError
from oragent._base.files import (
    FolderKind,
    LockHeld,
    find_kind,
    hold_lock,
    kind_of_folder,
    name_dated_folder,
    read_start,
    replace_file,
)
from oragent._base.protocol import ERROR, Failure, Result, Status, format_failure, format_result, parse
from oragent._base.safe_load import MAX_BITS, parse_json, parse_yaml
from oragent._base.settings import STRICT, build_settings, dump_settings
from oragent._base.text_format import CappedOutput, escape_text, hide_addresses

# Result blocks.


def nest(depth: int) -> object:
    value: object = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("result", "is_read"),
    [
        (Result({"a": 1}, tuple(range(64)), 1.0), True), (Result({"a": 1}, tuple(range(65)), 1.0), False),
        (Result({"a": 2**protocol.MAX_BITS - 1}, None, 1.0), True), (Result({"a": 2**protocol.MAX_BITS}, None, 1.0), False),
        (Result({"a": 10**5000}, None, 1.0), False),
        (Result({"a": nest(37)}, None, 1.0), True), (Result({"a": nest(40)}, None, 1.0), False),
        (Result({1: 2, None: 3}, None, -0.0), True),
    ],
)  # fmt: skip
def test_a_result_has_a_largest_size(result: Result, is_read: bool) -> None:
    assert isinstance(parse(format_result(result)), Result) is is_read


@pytest.mark.parametrize(("depth", "is_read"), [(39, True), (40, False)])
def test_metrics_of_a_failure_have_the_same_depth(depth: int, is_read: bool) -> None:
    failure = Failure(Status.ERROR, "m", "t", {"a": nest(depth)})
    found = parse(format_failure(failure))
    assert isinstance(found, Failure)
    assert (found == failure) is is_read
    assert found.status is (Status.ERROR if is_read else Status.REJECTED)


BLOCK = format_result(Result({}, None, 1.0))
FAILED = format_failure(Failure(Status.INVALID, "why"))


@pytest.mark.parametrize(
    ("text", "status", "message"),
    [
        # A printed failure counts, although results stand beside it.
        (f"{BLOCK}\n{FAILED}", Status.INVALID, "why"), (f"{FAILED}\n{BLOCK}", Status.INVALID, "why"),
        (f"{FAILED}\n{FAILED}", Status.INVALID, "why"), (f"{BLOCK}\n{BLOCK}", Status.REJECTED, None),
        (f"{BLOCK}\n{ERROR}", Status.REJECTED, None),
        (f"{BLOCK}\n{format_failure(Failure(Status.SCREENED, 'x', metrics={'raced': 1}))}", Status.REJECTED, None),
        (f"  {ERROR}  \n  {FAILED.splitlines()[1]}", Status.INVALID, "why"), ("text", Status.CRASHED, None),
    ],
)  # fmt: skip
def test_the_verdict_on_several_blocks(text: str, status: Status, message: str | None) -> None:
    found = parse(text)
    assert isinstance(found, Failure)
    assert found.status is status
    assert message is None or found.message == message


@pytest.mark.parametrize(("features", "read"), [([1, 2.5], (1, 2.5)), ((), ()), (None, None)])
def test_features_are_a_tuple(features: object, read: object) -> None:
    found = parse(BLOCK.replace("\nNone\n", f"\n{features!r}\n"))
    assert isinstance(found, Result)
    assert found.features == read


def test_texts_of_metrics_can_be_stored() -> None:
    found = parse(
        format_failure(Failure(Status.ERROR, "a\ud800", "b\ud800", {"c\ud800": ["d\ud800", (1, {"e": "f\ud800"})]}))
    )
    assert found == Failure(Status.ERROR, "a?", "b?", {"c?": ["d?", [1, {"e": "f?"}]]})
    assert protocol.storable_metrics({1: "x", None: ("y\ud800",), 2.5: {"z\ud800"}}) == {
        1: "x",
        "None": ("y?",),
        2.5: {"z?"},
    }


@pytest.mark.parametrize("status", Status)
def test_only_scores_and_early_ends_are_no_failures(status: Status) -> None:
    assert status.failed is (status not in ("ok", "screened"))


# Settings.


@dataclass(config=STRICT)
class Model:
    name: str = "m"
    depth: int = 1


@dataclass(config=STRICT)
class Settings:
    seed: int = 0
    model: Model | None = None
    strategy: str = "gp"
    inner: Model = field(default_factory=Model)


@pytest.mark.parametrize(
    ("tree", "overrides", "expected"),
    [
        ({}, [], Settings()),
        ({"model": "x"}, [], Settings(model=Model("x"))),
        # A section is named before and after one of its keys, and the later override wins.
        ({}, ["model=x", "model.depth=3"], Settings(model=Model("x", 3))),
        ({"model": {"depth": 2}}, ["model.name=y"], Settings(model=Model("y", 2))),
        ({}, ["model.depth=3", "model=x"], Settings(model=Model("x"))),
        # A text that is no section stays a text.
        ({"strategy": "a"}, ["strategy=b"], Settings(strategy="b")),
        ({"inner": {"name": "a"}}, ["inner.depth=4", "seed=1", "seed=2"], Settings(seed=2, inner=Model("a", 4))),
        ({}, ["inner.name='a=b'"], Settings(inner=Model("a=b"))),
    ],
)
def test_overrides_win_over_the_tree(tree: dict, overrides: list[str], expected: Settings) -> None:
    before = json.dumps(tree)
    settings = build_settings(Settings, tree, overrides, "test")
    assert settings == expected
    assert build_settings(Settings, dump_settings(settings), [], "test") == expected
    assert json.dumps(tree) == before


@pytest.mark.parametrize(
    "override", ["seed", "=3", "seed=[", "seed=x", "sead=1", "inner.dept=2", "seed.a=1", "inner.name={a: b, c}"]
)
def test_a_wrong_override_is_one_line(override: str) -> None:
    with pytest.raises(ConfigError) as caught:
        build_settings(Settings, {}, [override], "test")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("key", "near"),
    [
        ("sead", "seed"),
        ("sabd", "seed"),
        ("sxxx", None),
        ("inner.dept", "depth"),
        ("inner.nam", "name"),
        ("model.x", None),
    ],
)
def test_the_nearest_key_is_named(key: str, near: str | None) -> None:
    with pytest.raises(ConfigError) as caught:
        build_settings(Settings, {}, [f"{key}=1"], "source")
    text = str(caught.value)
    assert repr(key) in text
    if near:
        assert text.endswith(f"{near!r}?")
    else:
        assert text.endswith("name, depth" if "." in key else "seed, model, strategy, inner")


# JSON and YAML.


@pytest.mark.parametrize(
    ("text", "is_read"),
    [
        (str(2**MAX_BITS - 1), True), (str(2**MAX_BITS), False), (f'{{"a": [1, {2**MAX_BITS}]}}', False), (f"[{2**MAX_BITS}, 1]", False),
        ('"' + "9" * 999 + '"', True), ("[" * 2000 + "]" * 2000, False), ("[[], {}, 1]", True),
    ],
)  # fmt: skip
def test_numbers_and_depth_of_json_are_limited(text: str, is_read: bool) -> None:
    if is_read:
        assert parse_json(text) == json.loads(text)
    else:
        with pytest.raises(ValueError):  # noqa: PT011
            parse_json(text)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("[1, 2, 3]", 4), ("{a: 1, b: 2}", 5), ("[[1], [2]]", 5), ("a", 1),
        # An alias counts with its content, each time.
        ("[&a [1, 2], *a, *a]", 10), ("{x: &a {y: 1}, z: *a}", 9), ("[&a 1, *a]", 3), ("[&a [&b [1], *b], *a, *b]", 13),
    ],
)  # fmt: skip
def test_values_of_yaml_are_counted_with_their_aliases(text: str, values: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # One more for the document.
    monkeypatch.setattr(safe_load, "MAX_VALUES", values + 1)
    assert parse_yaml(text) == yaml.safe_load(text)
    monkeypatch.setattr(safe_load, "MAX_VALUES", values)
    with pytest.raises(yaml.YAMLError):
        parse_yaml(text)


@pytest.mark.parametrize(
    ("text", "depth"),
    [
        ("a", 1),
        ("[1]", 2),
        ("[[1], {a: 1}]", 3),
        ("[&a [1], [*a]]", 4),
        ("[&a [[1]], [*a], 1]", 5),
        ("{a: [1], b: 1}", 3),
    ],
)
def test_the_depth_of_yaml_is_counted_with_its_aliases(text: str, depth: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(safe_load, "MAX_DEPTH", depth)
    assert parse_yaml(text) == yaml.safe_load(text)
    monkeypatch.setattr(safe_load, "MAX_DEPTH", depth - 1)
    with pytest.raises(yaml.YAMLError):
        parse_yaml(text)


def test_a_text_of_exactly_the_limit_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(safe_load, "MAX_BYTES", 5)
    assert parse_yaml("aaaaa") == "aaaaa"
    with pytest.raises(yaml.YAMLError):
        parse_yaml("aaaaaa")


# Files.


def test_a_lock_names_its_holder(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    for note in ("", "sweeps"):
        with hold_lock(path, note):
            with pytest.raises(LockHeld) as caught, hold_lock(path):
                pass
            assert f"process {os.getpid()} on " in str(caught.value)
            assert ("(sweeps)" in str(caught.value)) is bool(note)
            assert str(time.localtime().tm_year) in str(caught.value)
    path.write_text("x" * 900)
    with hold_lock(path):
        assert path.read_text().startswith("process ")
        assert "x" * 9 not in path.read_text()
        # The holder may be another program.
        path.write_bytes(b"caf\xe9")
        with pytest.raises(LockHeld) as caught, hold_lock(path):
            pass
        assert "caf" in str(caught.value)
    (tmp_path / "link").symlink_to(path)
    with pytest.raises(OSError, match="link"), hold_lock(tmp_path / "link"):
        pass


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file.txt"
    replace_file(path, "é")
    replace_file(path, b"\xff")
    assert path.read_bytes() == b"\xff"
    with pytest.raises(KeyError), files.open_replacement(path) as draft:
        draft.write_text("half")
        assert (draft.suffix, draft.parent) == (".txt", tmp_path)
        raise KeyError
    assert [entry.name for entry in tmp_path.iterdir()] == ["file.txt"]
    assert path.read_bytes() == b"\xff"


def test_dated_folders_are_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files.time, "strftime", lambda form: "20260102-030405")
    names = []
    for _ in range(3):
        folder = name_dated_folder(tmp_path)
        folder.mkdir()
        names.append(folder.name)
    assert names == ["20260102-030405", "20260102-030405-2", "20260102-030405-3"]


def test_the_start_of_a_plain_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("abcdef")
    assert (read_start(tmp_path / "file", 3), read_start(tmp_path / "file", 9)) == ("abc", "abcdef")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "pipe", ".", "none"):
        with pytest.raises(OSError):  # noqa: PT011
            read_start(tmp_path / name, 3)


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        ({"comparison.yaml", "study.md"}, FolderKind.STUDY), ({"comparison.yaml"}, FolderKind.COMPARISON),
        ({"run.db", "config.yaml", "x"}, FolderKind.SEARCH), ({"run.db", "docs", "data"}, FolderKind.WORKSPACE),
        ({"run.db", "docs", "data", "config.yaml"}, FolderKind.WORKSPACE), ({"run.db", "converse.json"}, FolderKind.CONVERSATION),
        ({"run.db", "config.yaml", "formulate.json"}, FolderKind.FORMULATION), ({"run.db"}, None), (set(), None),
    ],
)  # fmt: skip
def test_a_folder_is_what_its_names_say(names: set[str], kind: FolderKind | None, tmp_path: Path) -> None:
    assert find_kind(names) is kind
    for name in names:
        (tmp_path / name).mkdir()
    assert kind_of_folder(tmp_path) is kind
    assert kind_of_folder(tmp_path / "none") is None


def test_a_plain_folder_is_made_with_its_parents_and_never_through_a_link(tmp_path: Path) -> None:
    for _ in range(2):
        files.make_plain_folder(tmp_path / "a" / "b")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    with pytest.raises(OSError, match="link"):
        files.make_plain_folder(tmp_path / "link")


@pytest.mark.parametrize("resolve", [files.resolve_path])
def test_links_of_relative_and_absolute_paths_are_followed(
    resolve: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    monkeypatch.chdir(tmp_path)
    assert resolve(Path("link/x")) == resolve(tmp_path / "link" / "x") == tmp_path / "real" / "x"


# Texts.


@given(st.lists(st.binary(max_size=9), max_size=9), st.integers(2, 20))
def test_output_keeps_its_ends_and_counts_the_rest(chunks: list[bytes], limit: int) -> None:
    output, whole, half = CappedOutput(limit), b"".join(chunks), limit // 2
    for chunk in chunks:
        output.add(chunk)
    if len(whole) <= 2 * half:
        assert output.text() == whole.decode(errors="replace")
    else:
        gap = f"\n... {len(whole) - 2 * half} bytes dropped ...\n".encode()
        assert output.text() == (whole[:half] + gap + whole[-half:]).decode(errors="replace")


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a\x00b", "a\\u0000b"), ("\u202e", "\\u202e"), ("\U000e0001", "\\U000e0001"), ("\ud800", "\\ud800"), ("\uffff", "\\uffff"),
        ("é\u00a0\u3000", "é\u00a0\u3000"), ("a\r\nb\r", "a\nb\\u000d"), ("\t", "\t"),
    ],
)  # fmt: skip
def test_invisible_characters_are_escaped(text: str, escaped: str) -> None:
    assert escape_text(text) == escaped


def test_addresses_are_hidden() -> None:
    assert hide_addresses("<f at 0x7F3a2c> 0x1f 0xabcdef0") == "<f at 0x...> 0x1f 0x..."


@pytest.mark.parametrize(
    ("direction", "best", "words"), [(Direction.MINIMIZE, 1.0, "lower"), (Direction.MAXIMIZE, 3.0, "higher")]
)
def test_a_direction_orders_scores(direction: Direction, best: float, words: str) -> None:
    assert direction.best([2.0, 1.0, 3.0]) == best
    assert direction.better(best, 2.0)
    assert not direction.better(2.0, 2.0)
    assert not direction.better(2.0, best)
    assert direction.fitness(2.0) == 2.0 * direction.sign
    assert (direction.comparative, direction.words.split()[0]) == (words, words)


# Requirements.


def test_a_package_that_is_missing_is_named_with_its_extra() -> None:
    distribution.require_package("yaml", "figures", "a figure")
    with pytest.raises(ConfigError) as caught:
        distribution.require_package("no_such_package", "figures", "a figure")
    assert "no_such_package" in str(caught.value)
    assert "[figures]" in str(caught.value)
