"""Commands and their ends are plain data: they cross as JSON and come back the same, and nonsense is one clear line."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.errors import SandboxError
from oragent.sandbox.messages import PYTHON, Command, CommandResult, EndReason, Limits, is_safe_name

words = st.text(st.characters(codec="utf-8"), max_size=12)
names = st.from_regex(r"[a-z]{1,8}(\.py)?", fullmatch=True)


@given(
    argv=st.lists(words, max_size=4),
    files=st.dictionaries(names, words, max_size=3),
    stdin=words,
    environment=st.dictionaries(names, words, max_size=2),
    folder=st.none() | names.map(lambda name: Path("/somewhere") / name),
    bring=st.lists(names, max_size=2),
    cpu_s=st.floats(1, 100),
)
def test_a_command_comes_back_from_json_as_it_was(argv, files, stdin, environment, folder, bring, cpu_s) -> None:
    one = Command(("program", *argv), files, stdin, environment, Limits(cpu_s=cpu_s), folder, tuple(bring))
    assert Command.from_plain(json.loads(json.dumps(one.to_plain()))) == one


@given(
    end=st.sampled_from(EndReason),
    code=st.integers(-64, 255),
    stdout=words,
    files=st.dictionaries(names, st.binary(max_size=40) | words.map(str.encode), max_size=3),
    left_out=st.dictionaries(names, words, max_size=2),
    seconds=st.floats(0, 1000),
)
def test_an_end_comes_back_from_json_as_it_was(end, code, stdout, files, left_out, seconds) -> None:
    one = CommandResult(end, code, stdout, "err", files, left_out, seconds, seconds / 2, 3.5, 0.25, "why")
    again = CommandResult.from_plain(json.loads(json.dumps(one.to_plain())))
    assert again == one
    assert isinstance(again.end, EndReason)


@pytest.mark.parametrize(
    "name", ["", "/etc/passwd", "../up", "a/../b", "a//b", "a/", ".", "a\nb", "a\0b", "\x1b[31m", "x" * 256]
)
def test_a_name_that_leads_outside_or_cannot_be_shown_is_refused(name: str) -> None:
    assert not is_safe_name(name)
    with pytest.raises(SandboxError):
        Command(("program",), {name: ""})
    with pytest.raises(SandboxError):
        Command(("program",), bring=(name,))


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"argv": ()}, "argv is empty"),
        ({"argv": ("",)}, "argv is empty"),
        ({"files": {"a": "", "a/b": ""}}, "'a/b' cannot name .* one of its folders is a file"),
        ({"environment": {"A=B": "c"}}, "'A=B' is not a valid name"),
        ({"folder": Path("here")}, "absolute path, not 'here'"),
    ],
)
def test_nonsense_is_one_clear_line(fields: dict, words: str) -> None:
    with pytest.raises(SandboxError, match=words) as caught:
        Command(**{"argv": ("program",), **fields})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("change", [{"argv": None}, {"limits": {"hours": 3}}, {"limits": {"cpu_s": 0}}, {"files": 3}])
def test_what_is_no_command_is_not_read_as_one(change: dict) -> None:
    with pytest.raises(SandboxError):
        Command.from_plain(Command(("program",)).to_plain() | change)


@pytest.mark.parametrize(
    "change", [{"end": "bored"}, {"files": {"a": {}}}, {"files": {"a": {"base64": "?"}}}, {"more": 1}]
)
def test_what_is_no_end_is_not_read_as_one(change: dict) -> None:
    with pytest.raises(SandboxError):
        CommandResult.from_plain(CommandResult(EndReason.EXITED, 0).to_plain() | change)


def test_only_a_script_that_comes_along_can_be_forked() -> None:
    one = Command((PYTHON, "eval.py"), {"eval.py": ""})
    assert one.script == "eval.py"
    assert replace(one, argv=(PYTHON, "-c", "pass")).script is None
    assert replace(one, argv=("node", "eval.py")).script is None
    assert replace(one, argv=(PYTHON,)).script is None
