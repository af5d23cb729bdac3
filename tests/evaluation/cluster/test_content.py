"""Content is sent to a machine once, is there whole or not at all, and is what its name says."""

import os
from pathlib import Path

import pytest

from oragent._base.errors import SandboxError
from oragent.evaluation.cluster.content import Content, ContentStore, gather_content
from oragent.evaluation.problem import load_problem


def sent(content: Content, shelf: ContentStore) -> int:
    """Give a shelf what it lacks; the number of parts."""
    count = 0
    for number in shelf.begin_draft(content.manifest):
        for offset, part in content.read_parts(content.pieces[number]):
            shelf.write_part(content.digest, number, offset, part)
            count += 1
    if shelf.find_folder(content.digest) is None:
        shelf.finish_draft(content.digest)
    return count


@pytest.fixture
def shelf(tmp_path: Path) -> ContentStore:
    return ContentStore(tmp_path / "shelf")


def test_the_problem_goes_and_the_data_below_its_root(toy: Path, tmp_path: Path) -> None:
    for name in ("data/large.txt", "checkpoints/net.bin", "outputs/run.db", ".secret", "other.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    (toy / ".env").write_text("KEY=1")
    (toy / "link").symlink_to("/etc/passwd")
    found = {piece.name for piece in gather_content(load_problem(toy), tmp_path).pieces}
    own = {f"home/problems/toy/{name}" for name in ("problem.yaml", "eval.py", "heuristic.py")}
    assert found == own | {"home/data/large.txt", "home/checkpoints/net.bin"}


def test_a_problem_outside_of_its_root_goes_beside_it(toy: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    assert gather_content(load_problem(toy), tmp_path / "elsewhere").evaluator == "problem/toy/eval.py"
    assert gather_content(load_problem(toy), toy).evaluator == "home/eval.py"


def test_it_is_sent_once(content: Content, shelf: ContentStore, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("oragent.evaluation.cluster.content.PART_BYTES", 50)
    assert sent(content, shelf) > len(content.pieces)
    folder = shelf.find_folder(content.digest)
    for piece in content.pieces:
        assert (folder / piece.name).read_bytes() == content.paths[piece.name].read_bytes()
    assert sent(content, shelf) == 0
    assert sent(content, ContentStore(tmp_path / "shelf")) == 0  # nor again to another worker of the machine


def test_what_was_changed_since_is_sent_again(content: Content, shelf: ContentStore, tmp_path: Path) -> None:
    sent(content, shelf)
    path = shelf.find_folder(content.digest) / content.evaluator
    path.chmod(0o600)
    path.write_text("print('forged')")
    assert sent(content, ContentStore(tmp_path / "shelf")) == len(content.pieces)
    (shelf.find_folder(content.digest) / "more.py").write_text("")
    assert sent(content, ContentStore(tmp_path / "shelf")) == len(content.pieces)


def test_what_is_not_what_its_name_says_is_never_there(content: Content, shelf: ContentStore) -> None:
    for number in shelf.begin_draft(content.manifest):
        shelf.write_part(content.digest, number, 0, b"something else")
    with pytest.raises(SandboxError):
        shelf.finish_draft(content.digest)
    assert shelf.find_folder(content.digest) is None


def test_no_name_leaves_the_folder(content: Content, shelf: ContentStore) -> None:
    for name in ("../x", "/etc/x", "a/../../x", "", "a//b"):
        with pytest.raises(SandboxError):
            shelf.begin_draft(content.manifest.replace("home/problems/toy/heuristic.py", name))
    for manifest in ("", "[]", "{}", '{"evaluator": 3, "pieces": [[]]}', "[" * 99_999):
        with pytest.raises(SandboxError):
            shelf.begin_draft(manifest)


def test_a_shelf_that_others_may_write_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir(mode=0o777)
    (tmp_path / "open").chmod(0o777)
    (tmp_path / "link").symlink_to(tmp_path)
    for name in ("open", "link"):
        with pytest.raises(SandboxError):
            ContentStore(tmp_path / name)


def test_what_killed_workers_left_goes(content: Content, shelf: ContentStore, tmp_path: Path) -> None:
    shelf.begin_draft(content.manifest)
    (draft,) = (tmp_path / "shelf").iterdir()
    ContentStore(tmp_path / "shelf")
    assert draft.is_dir()  # somebody may be at it
    os.utime(draft, (0, 0))
    ContentStore(tmp_path / "shelf")
    assert not draft.exists()
