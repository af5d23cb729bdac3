"""What a command can be given, leave and bring back, and what it cannot reach; with all means and with limits alone."""

import os
import shutil
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from oragent._base.errors import SandboxError
from oragent.sandbox.isolation.mechanisms import FORBID, Mechanism
from oragent.sandbox.isolation.probe import probe_mechanisms
from oragent.sandbox.limits import count_processors
from oragent.sandbox.messages import FOLDER, PYTHON, Command, EndReason, Limits
from oragent.sandbox.sandbox import Sandbox
from tests.processes import bearing

WORKING = {report.mechanism for report in probe_mechanisms() if report.works}
PATIENT = Limits(cpu_s=30)


@pytest.fixture(scope="module", params=["all", "limits"])
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "limits":
            patch.setenv(FORBID, "limits")
        with Sandbox(2) as made:
            yield made


@pytest.fixture
def held(sandbox: Sandbox) -> frozenset[Mechanism]:
    """The means at work."""
    return frozenset({Mechanism.LIMITS} if FORBID in os.environ else WORKING)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A lasting folder among others."""
    (tmp_path / "spaces" / "mine").mkdir(parents=True)
    (tmp_path / "spaces" / "other").mkdir()
    (tmp_path / "spaces" / "other" / "secret").write_text("of another")
    return tmp_path / "spaces" / "mine"


def python(text: str, **fields: object) -> Command:
    return Command((PYTHON, "main.py"), {"main.py": text}, **{"limits": PATIENT, **fields})


def shell(text: str, **fields: object) -> Command:
    return Command(("/bin/sh", "-c", text), **{"limits": PATIENT, **fields})


def test_files_lie_beside_it_and_may_be_executed(sandbox: Sandbox) -> None:
    files = {"tools/say.sh": "#!/bin/sh\necho said $1", "data/in.txt": "numbers"}
    ended = sandbox(shell("tools/say.sh word && cat data/in.txt && echo x > data/new", files=files))
    assert (ended.end, ended.code, ended.stdout) == (EndReason.EXITED, 0, "said word\nnumbers"), ended.stderr


def test_a_program_among_its_files_is_found_there(sandbox: Sandbox) -> None:
    ended = sandbox(
        Command(("say.sh", "a", f"{FOLDER}/b"), {"say.sh": '#!/bin/sh\necho "$@"; echo "$0"'}, limits=PATIENT)
    )
    assert ended.stdout == "a b\nsay.sh\n"


def test_a_program_of_another_language_is_found_on_the_path(sandbox: Sandbox) -> None:
    assert sandbox(Command(("echo", "words"), limits=PATIENT)).stdout == "words\n"
    ended = sandbox(Command(("no-such-program",), limits=PATIENT))
    assert (ended.end, ended.code) == (EndReason.EXITED, 127)


@pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler")
def test_a_program_is_compiled_in_a_folder_and_run_from_there(sandbox: Sandbox, folder: Path) -> None:
    source = '#include <stdio.h>\nint main() { puts("compiled"); return 3; }'
    made = sandbox(Command(("cc", "-o", "program", "main.c"), {"main.c": source}, folder=folder, limits=PATIENT))
    assert made.code == 0, made.stderr
    ended = sandbox(Command(("./program",), folder=folder, limits=PATIENT))
    assert (ended.code, ended.stdout) == (3, "compiled\n")


@pytest.mark.skipif(not shutil.which("node"), reason="no Node")
def test_node_runs_in_a_lasting_folder(sandbox: Sandbox, folder: Path) -> None:
    text = "require('fs').writeFileSync('made', 'by node'); console.log(require('fs').readFileSync(0, 'utf8'))"
    limits = replace(PATIENT, memory_mb=16384)  # it maps much more than it uses
    ended = sandbox(Command(("node", "m.js"), {"m.js": text}, stdin="told", folder=folder, limits=limits))
    assert (ended.stdout, (folder / "made").read_text()) == ("told\n", "by node"), ended.stderr


@pytest.mark.slow
@pytest.mark.parametrize("warm", [True, False])
def test_a_script_reads_its_input_its_arguments_and_its_environment(tmp_path: Path, warm: bool) -> None:
    (tmp_path / "main.py").write_text("import sys")
    text = "import os, sys\nprint(sys.stdin.read(), sys.argv[1:], os.environ['MINE'], 'HOME' in os.environ)"
    command = python(text, stdin="línes\nof input", environment={"MINE": "own"})
    command = replace(command, argv=(*command.argv, "a word"))
    with Sandbox(warm=warm) as sandbox:
        ended = sandbox(command, root_dir=tmp_path, warm_up=tmp_path / "main.py")
        assert ended.stdout == "línes\nof input ['a word'] own True\n", ended.stderr
        again = sandbox(python("import os, sys; print(repr(sys.stdin.read()), os.environ.get('MINE'))"))
    assert again.stdout == "'' None\n"  # what one was given the next one does not find


def test_what_it_leaves_is_brought_back_by_pattern(sandbox: Sandbox) -> None:
    text = "import os\nos.mkdir('out')\nopen('out/a.bin', 'wb').write(bytes(range(256)))\nopen('b.txt', 'w').write('ä')"
    ended = sandbox(python(text, bring=("out/*", "*.txt", "nothing")))
    assert dict(ended.files) == {"out/a.bin": bytes(range(256)), "b.txt": "ä".encode()}
    assert ended.left_out == {}


@pytest.mark.slow
def test_what_it_left_is_brought_back_even_when_it_was_ended(sandbox: Sandbox) -> None:
    ended = sandbox(shell("echo half > log; sleep 60", bring=("log",), limits=Limits(wall_s=1)))
    assert (ended.end, dict(ended.files)) == (EndReason.DEADLINE, {"log": b"half\n"})


def test_neither_links_nor_more_than_the_limit_are_brought(sandbox: Sandbox, folder: Path) -> None:
    secret = folder.parent / "other" / "secret"
    text = f"ln -s {secret} link; ln -s / root; mkfifo pipe; for n in a b c; do head -c 600000 /dev/zero > $n; done"
    ended = sandbox(shell(text, folder=folder, bring=("*", "*/*"), limits=replace(PATIENT, file_mb=1)))
    assert dict(ended.files) == {"a": bytes(600_000)}
    assert ended.left_out == {
        "link": "it is a link",
        "root": "it is a link",
        "pipe": "it is not a regular file",
        "b": "it has 600000 bytes, and only 448576 more may be brought back",
        "c": "it has 600000 bytes, and only 448576 more may be brought back",
    }


def test_several_commands_work_one_after_the_other_in_one_folder(sandbox: Sandbox, folder: Path) -> None:
    (folder / "notes.txt").write_text("begun\n")
    for word in ("one", "two"):
        ended = sandbox(shell(f"echo {word} >> notes.txt && mkdir -p by/{word}", folder=folder))
        assert ended.code == 0, ended.stderr
    ended = sandbox(python("print(open('notes.txt').read())", folder=folder, bring=("notes.txt",)))
    assert ended.stdout == "begun\none\ntwo\n\n"
    assert ended.files["notes.txt"].decode() == (folder / "notes.txt").read_text() == "begun\none\ntwo\n"
    assert {path.name for path in folder.iterdir()} == {"notes.txt", "by", "main.py"}
    assert {path.stat().st_uid for path in folder.rglob("*")} == {os.getuid()}  # they are ours again


def test_a_forked_script_works_in_a_lasting_folder_too(sandbox: Sandbox, folder: Path) -> None:
    (folder / "main.py").write_text("import json")
    text = "import json, os, helper\njson.dump(helper.x, open('made', 'w'))\nprint(os.path.abspath(__file__), os.environ['HOME'])"
    command = python(text, folder=folder)
    command = replace(command, files={**command.files, "helper.py": "x = 5"})
    ended = sandbox(command, warm_up=folder / "main.py")
    assert ((folder / "made").read_text(), ended.stdout) == ("5", "main.py .\n"), ended.stderr


REACHES = """
import os, sys
for place in sys.argv[1:]:
    how, _, path = place.partition(":")
    try:
        os.listdir(path) if how == "list" else open(path, {"read": "r", "write": "a"}[how]).close()
        print("yes")
    except OSError:
        print("no")
"""


def reached(sandbox: Sandbox, folder: Path, *places: str, **options: Path) -> list[bool]:
    command = Command((PYTHON, "main.py", *places), {"main.py": REACHES}, folder=folder, limits=PATIENT)
    ended = sandbox(command, **options)
    assert ended.code == 0, ended.stderr
    return [word == "yes" for word in ended.stdout.split()]


def test_it_writes_in_its_own_folders_alone(sandbox: Sandbox, held: frozenset[Mechanism], folder: Path) -> None:
    project = folder.parents[1] / "project"
    project.mkdir(mode=0o777)
    project.chmod(0o777)
    others = [folder.parent / "other" / "new", project / "new", Path.home() / ".oragent-test", folder.parent / "new"]
    own, *rest = reached(sandbox, folder, f"write:{folder}/new", *(f"write:{path}" for path in others))
    (Path.home() / ".oragent-test").unlink(missing_ok=True)
    assert own
    if held & {Mechanism.NAMESPACES, Mechanism.LANDLOCK}:
        assert rest == [False] * 4
        assert not any(path.exists() for path in others)


def test_it_does_not_read_what_others_keep(sandbox: Sandbox, held: frozenset[Mechanism], folder: Path) -> None:
    (folder.parents[1] / "label").write_text("gold")
    secret, label = f"read:{folder.parent}/other/secret", f"read:{folder.parents[1]}/label"
    told = reached(sandbox, folder, secret, label, f"read:{os.__file__}", f"list:{folder}")
    assert told[2:] == [True, True]
    if Mechanism.NAMESPACES in held:
        assert not told[0]
    if Mechanism.LANDLOCK in held:
        assert told[:2] == [False, False]


def test_the_folder_that_must_stay_readable_does_and_not_what_lies_beside_its_own(
    sandbox: Sandbox, held: frozenset[Mechanism], folder: Path
) -> None:
    root = folder.parents[1]
    (root / "data").write_text("given")
    places = f"read:{root}/data", f"write:{root}/data", f"read:{folder.parent}/other/secret"
    told = reached(sandbox, folder, *places, root_dir=root)
    assert told[0]
    if held & {Mechanism.NAMESPACES, Mechanism.LANDLOCK}:
        assert not told[1]
    if Mechanism.NAMESPACES in held:
        assert not told[2]


@pytest.mark.skipif(Mechanism.NAMESPACES not in WORKING, reason="this machine has no namespaces")
def test_namespaces_alone_hide_the_folders_of_others(
    sandbox: Sandbox, held: frozenset[Mechanism], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without Landlock, and beside what it needs itself: its empty folder, Python, the project."""
    if Mechanism.NAMESPACES not in held:
        pytest.skip("without namespaces: the case with all means tries them")
    site = folder.parent / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text("import oragent.sandbox.isolation.landlock as one\none.abi = lambda: 0\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(site), str(Path(__file__).parents[2])]))
    monkeypatch.setenv("TMPDIR", str(folder.parent))
    monkeypatch.setattr("tempfile.tempdir", None)
    project = folder.parent / "project"
    project.mkdir()
    (project / "data").write_text("given")
    (folder.parents[1] / "label").write_text("open")
    with Sandbox() as bare:
        places = (
            f"read:{folder.parents[1]}/label", f"read:{folder.parent}/other/secret", f"list:{folder.parent}/other",
            f"read:{project}/data", f"write:{project}/data", f"write:{folder}/new", f"write:{folder.parent}/new",
        )  # fmt: skip
        told = reached(bare, folder, *places, root_dir=project)
    assert told == [False, False, False, True, False, True, False]


@pytest.mark.slow
def test_two_commands_in_one_folder_take_turns(sandbox: Sandbox, folder: Path) -> None:
    text = "test ! -e busy && touch busy && sleep 0.3 && rm busy"
    codes: list[int] = []
    threads = [
        threading.Thread(target=lambda: codes.append(sandbox(shell(text, folder=folder)).code)) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert codes == [0, 0, 0]


def test_what_an_earlier_command_left_leads_nowhere_else(sandbox: Sandbox, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("good")
    assert sandbox(shell(f"ln -s {tmp_path / 'kept'} main.py; ln -s {tmp_path} in", folder=folder)).code == 0
    ended = sandbox(python("print('ran')", folder=folder, bring=("*", "*/*")))
    assert ended.stdout == "ran\n"
    assert ended.left_out == {"in": "it is a link"}
    assert (tmp_path / "kept").read_text() == "good"
    with pytest.raises(SandboxError):
        sandbox(Command(("/bin/true",), {"in/kept": "bad"}, folder=folder, limits=PATIENT))
    assert (tmp_path / "kept").read_text() == "good"


def test_a_folder_must_exist_and_can_be_hidden(sandbox: Sandbox, tmp_path: Path) -> None:
    for path, words in (
        (tmp_path / "missing", "missing of a command does not exist"),
        (Path("/usr"), "directly below"),
    ):
        with pytest.raises(SandboxError, match=words):
            sandbox(shell("true", folder=path))


def test_no_process_of_a_command_outlives_it(sandbox: Sandbox, folder: Path) -> None:
    word = str(61.25 + os.getpid())
    sandbox(shell(f"setsid sleep {word} & sleep 0.2", folder=folder))
    deadline = time.monotonic() + 20
    while bearing(f"sleep\0{word}") and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not bearing(f"sleep\0{word}")


@pytest.mark.slow
def test_limits_hold_for_any_program(sandbox: Sandbox) -> None:
    assert sandbox(shell("sleep 60", limits=Limits(wall_s=0.5))).end is EndReason.DEADLINE
    large = sandbox(python("x = bytearray(3 << 30)", limits=Limits(memory_mb=1024)))
    assert (large.code, "MemoryError" in large.stderr) == (1, True)
    flood = sandbox(shell("head -c 3000000 /dev/zero | tr '\\0' x", limits=Limits(output_kb=64)))
    assert "bytes dropped" in flood.stdout
    assert len(flood.stdout) < 70_000


@pytest.mark.slow
@pytest.mark.skipif(
    count_processors() < 2 or not hasattr(os, "sched_getaffinity"), reason="one processor has no choice"
)
def test_commands_stay_on_one_processor_where_there_are_workers_for_all() -> None:
    where = "import os; print(*os.sched_getaffinity(0))"
    every = count_processors()
    for workers, alone, expected in ((every, True, 1), (every - 1, True, every), (every, False, every)):
        with Sandbox(workers, alone=alone) as box:
            found = box(python(where)).stdout.split()
        assert len(found) == expected
