"""Folders of conversations keep the settings with which they began."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from oragent._base.errors import OragentError, StoreError
from oragent.converse.conversation_request import FILE, ConversationRequest, make_folder, read_request, write_request
from oragent.llm.model_settings import RuntimeWords

RUNTIME = RuntimeWords((), {"model.name": "scripted", "budget.money": 3.5}, None).read_runtime(("agent",))
CHOSEN = ConversationRequest("a.lp", "lines", RUNTIME, 2.5, 0.1, "scip", "cbc", 3)


@pytest.mark.parametrize("request_", [CHOSEN, ConversationRequest("b.lp"), replace(CHOSEN, confirm="")])
def test_a_folder_has_the_settings_of_its_beginning(request_: ConversationRequest, tmp_path: Path) -> None:
    write_request(tmp_path, request_)
    assert read_request(tmp_path) == request_


@pytest.mark.parametrize("name", ["format", "problem", "agent", "runtime", "seconds", "gap", "threads"])
def test_a_file_without_a_setting_is_no_conversation(name: str, tmp_path: Path) -> None:
    write_request(tmp_path, CHOSEN)
    tree = json.loads((tmp_path / FILE).read_text())
    changed = [{key: value for key, value in tree.items() if key != name}]
    changed += [tree | {name: "some words"}] if name not in ("problem", "agent") else []
    for written in (*changed, [], 3):
        (tmp_path / FILE).write_text(json.dumps(written))
        with pytest.raises(OragentError) as refused:
            read_request(tmp_path)
        assert "\n" not in str(refused.value)


def test_folders_are_named_by_their_models(tmp_path: Path) -> None:
    for name, expected in (("shop", "shop"), ("", "model"), ("../a b", "a-b"), ("m" * 200, "m" * 80)):
        folder = make_folder(tmp_path, name)
        assert folder.is_dir()
        assert folder.parent == tmp_path / expected
    (tmp_path / "file").touch()
    with pytest.raises(StoreError):
        make_folder(tmp_path / "file", "shop")
