"""YAML of a foreign folder ends in values within bounds or in one line, and never takes long."""

import os
import time
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from oragent._base import safe_load
from oragent._base.errors import OragentError
from oragent._base.safe_load import MAX_BYTES, MAX_DEPTH, load_yaml, parse_yaml
from oragent.evaluation.problem import load_problem
from oragent.report.run_configuration import read_about
from oragent.search.folder import reopen
from tests.hostile_yaml import TEXTS

LIMIT_S = 10


@pytest.mark.slow
@pytest.mark.parametrize("loader", ["CSafeLoader", "SafeLoader"])
@pytest.mark.parametrize("name", TEXTS)
def test_a_hostile_text_ends_in_one_line(name: str, loader: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if not hasattr(yaml, loader):
        pytest.skip("PyYAML without libyaml")
    monkeypatch.setattr(safe_load, "LOADER", getattr(yaml, loader))
    begun = time.process_time()
    with pytest.raises(yaml.YAMLError) as caught:
        parse_yaml(TEXTS[name])
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500
    assert loader == "SafeLoader" or time.process_time() - begun < LIMIT_S


@pytest.mark.slow
@pytest.mark.parametrize("name", TEXTS)
def test_folders_with_a_hostile_file_are_refused_in_one_line(name: str, toy: Path, tmp_path: Path) -> None:
    (toy / "problem.yaml").write_text(TEXTS[name], encoding="utf-8")
    (tmp_path / "config.yaml").write_text(TEXTS[name], encoding="utf-8")
    for read in (lambda: load_problem(toy), lambda: reopen(tmp_path), lambda: read_about(tmp_path / "config.yaml")):
        with pytest.raises(OragentError) as caught:
            read()
        assert "\n" not in str(caught.value)
        assert len(str(caught.value)) < 1000


LEAVES = st.none() | st.booleans() | st.integers(-(10**17), 10**17) | st.floats(allow_nan=False) | st.text(max_size=30)
KEYS = st.text(max_size=8) | st.integers(-(10**9), 10**9)


@pytest.mark.slow
@given(st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner), max_leaves=20))
def test_what_oragent_writes_is_read_as_it_was(tree: object) -> None:
    assert parse_yaml(yaml.safe_dump(tree)) == tree


def test_aliases_and_depth_within_the_limits_are_read() -> None:
    shared = [1, 2]
    assert parse_yaml(yaml.safe_dump({"a": shared, "b": shared})) == {"a": [1, 2], "b": [1, 2]}
    assert parse_yaml("a: &a {x: 1}\nb: {<<: *a, y: 2}") == {"a": {"x": 1}, "b": {"x": 1, "y": 2}}
    assert parse_yaml("[" * MAX_DEPTH + "]" * MAX_DEPTH)
    assert parse_yaml("") is None
    digest = "1668b1f3ca227aae952412f750ec67e4ce4a33ae1b1bfa95427f4313b3e0246a"
    assert parse_yaml(yaml.safe_dump({digest: 1, "1" * 64: 2})) == {digest: 1, "1" * 64: 2}


def test_numbers_of_keys_are_shorter_than_those_of_values() -> None:
    number = "1" * 19
    assert parse_yaml(f"a: {number}\nb: {number}") == {"a": int(number), "b": int(number)}
    assert parse_yaml(f"{number[1:]}: 2") == {int(number[1:]): 2}
    for text in (f"{number}: 2", f"a: 1\n{number}: 2", f"a: {'1' * 251}", f"[1, {'1' * 251}]"):
        with pytest.raises(yaml.YAMLError):
            parse_yaml(text)


def test_a_file_is_read_only_if_it_is_plain_text_of_bounded_length(tmp_path: Path) -> None:
    long, pipe, latin = tmp_path / "long.yaml", tmp_path / "pipe.yaml", tmp_path / "latin.yaml"
    long.write_text("a" * (MAX_BYTES + 1))
    os.mkfifo(pipe)
    latin.write_bytes(b"a: \xe9")
    with pytest.raises(OSError, match="bytes"):
        load_yaml(long)
    with pytest.raises(OSError, match="plain"):
        load_yaml(pipe)
    with pytest.raises(yaml.YAMLError, match="UTF-8"):
        load_yaml(latin)
