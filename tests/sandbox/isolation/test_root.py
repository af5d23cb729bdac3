"""In a minimal root there is what was named, and nothing else: as root, and for an ordinary user."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from oragent.sandbox.isolation import kernel, namespaces
from oragent.sandbox.isolation.environment import NOBODY, interpreter_places
from oragent.sandbox.isolation.mechanisms import Mechanism
from oragent.sandbox.isolation.probe import probe_mechanisms, run_in_child
from oragent.sandbox.isolation.root import (
    build_root,
    cover_path,
    leave_old_root,
    pivot_to_minimal_root,
    prepare_inner_root,
)

HAVE = {report.mechanism for report in probe_mechanisms() if report.works}
pytestmark = pytest.mark.skipif(Mechanism.NAMESPACES not in HAVE, reason="this machine has no namespaces")
PROGRAMS = tuple(map(Path, ("/usr", "/bin", "/lib", "/lib64")))
Within = Callable[[Callable[[], None]], str]


@pytest.fixture(params=["root", "user"])
def within(request: pytest.FixtureRequest) -> Within:
    """Do something in namespaces, as root or as a user without any right, and say why it failed."""
    if request.param == "root" and os.geteuid():
        pytest.skip("these tests run as an ordinary user")
    ordinary = request.param == "user" and not os.geteuid()

    def trial(action: Callable[[], None]) -> str:
        def first() -> None:
            if ordinary:
                os.setgroups([])
                os.setresgid(NOBODY, NOBODY, NOBODY)
                os.setresuid(NOBODY, NOBODY, NOBODY)
            namespaces.enter_namespaces()
            if problem := run_in_child(lambda: asserted(action)):  # only a child is in the namespace of processes
                raise OSError(problem)

        return run_in_child(first)

    return trial


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that everybody may reach, as the tests' own is closed to others."""
    for path in (tmp_path, *tmp_path.parents):
        if path.stat().st_uid == os.geteuid() and path != Path("/") and not path.stat().st_mode & 1:
            path.chmod(0o755)
    for name in ("given/inner", "other", "mine"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "file").write_text("x")
        (tmp_path / name / "file").chmod(0o666)
        (tmp_path / name).chmod(0o777)
    return tmp_path


def asserted(action: Callable[[], None]) -> None:
    try:
        action()
    except AssertionError as problem:
        raise OSError(f"not so: {problem}") from None


def refused(action: Callable[[], object]) -> bool:
    try:
        action()
    except OSError:
        return True
    return False


def test_what_was_named_is_there_and_nothing_else(within: Within, folder: Path) -> None:
    def trial() -> None:
        pivot_to_minimal_root([folder / "given", folder / "missing"], [folder / "mine"])
        assert sorted(os.listdir("/")) == sorted({"dev", folder.parts[1]})
        assert sorted(os.listdir(folder)) == ["given", "mine"]
        assert (folder / "given" / "inner" / "file").read_text() == "x"
        assert (folder / "mine" / "file").read_text() == "x"
        assert sorted(os.listdir("/dev")) == ["null", "random", "urandom", "zero"]
        assert os.getcwd() == "/"

    assert within(trial) == ""


def test_only_the_writable_can_be_changed(within: Within, folder: Path) -> None:
    def trial() -> None:
        pivot_to_minimal_root([folder / "given"], [folder / "mine", folder / "given" / "inner"])
        (folder / "mine" / "new").write_text("y")
        (folder / "given" / "inner" / "new").write_text("y")
        assert refused(lambda: (folder / "given" / "new").write_text("y"))
        assert refused(lambda: (folder / "given" / "file").write_text("y"))
        assert refused(lambda: (folder / "given").chmod(0o700))
        assert refused(lambda: (folder / "new").write_text("y"))
        assert refused(lambda: Path("/new").mkdir())
        assert refused(lambda: os.utime("/dev/null"))

    assert within(trial) == ""
    assert (folder / "mine" / "new").read_text() == "y"


def test_devices_work(within: Within) -> None:
    def trial() -> None:
        pivot_to_minimal_root([])
        Path("/dev/null").write_text("away")
        with open("/dev/urandom", "rb") as random:
            assert len(random.read(8)) == 8

    assert within(trial) == ""


def test_links_lead_where_they_led(within: Within, folder: Path) -> None:
    (folder / "by").symlink_to("given/inner")
    (folder / "far").symlink_to(folder / "by" / ".." / "inner")
    (folder / "round").symlink_to("round")

    def trial() -> None:
        pivot_to_minimal_root([folder / "far" / "file", folder / "round"])
        assert (folder / "far" / "file").read_text() == "x"
        assert os.readlink(folder / "by") == "given/inner"
        assert os.listdir(folder / "given" / "inner") == ["file"]
        assert os.listdir(folder / "given") == ["inner"]

    assert within(trial) == ""


def test_programs_of_a_system_whose_folders_are_links_start(within: Within) -> None:
    def trial() -> None:
        pivot_to_minimal_root(PROGRAMS)
        assert subprocess.run(["/bin/sh", "-c", "exit 3"], check=False).returncode == 3

    assert within(trial) == ""


def test_python_can_be_had_as_it_is_started_and_as_it_imports() -> None:
    environment = {"PYTHONPATH": str(Path(kernel.__file__).parents[2])}

    def trial() -> None:
        namespaces.enter_namespaces()
        pivot_to_minimal_root(interpreter_places())
        command = [sys.executable, "-c", "import ssl, numpy, oragent"]
        assert subprocess.run(command, env=environment, check=False).returncode == 0

    assert run_in_child(lambda: asserted(trial)) == ""


def test_a_folder_below_closed_ones_can_be_had_once_they_are_made_anew(folder: Path) -> None:
    """Python below ``/root``, say: whoever makes the root can read it, and whoever lives there need not."""
    if os.geteuid():
        pytest.skip("these tests run as an ordinary user")
    (folder / "other").chmod(0o700)
    (folder / "other" / "deep").mkdir()
    (folder / "other" / "deep" / "file").write_text("x")

    def trial() -> None:
        namespaces.enter_namespaces()
        pivot_to_minimal_root([folder / "other" / "deep"])
        os.setresuid(NOBODY, NOBODY, NOBODY)
        assert (folder / "other" / "deep" / "file").read_text() == "x"

    assert run_in_child(lambda: asserted(trial)) == ""


def test_processes_are_those_of_the_namespace_or_none(within: Within) -> None:
    def trial() -> None:
        pivot_to_minimal_root(PROGRAMS, proc=True)
        assert [name for name in os.listdir("/proc") if name.isdigit()] == ["1"]
        assert os.readlink("/dev/fd") == "/proc/self/fd"
        assert refused(lambda: os.listdir("/proc/1/root/etc"))  # not a way back

    def without() -> None:
        pivot_to_minimal_root(PROGRAMS)
        assert not os.path.exists("/proc")

    assert within(trial) == ""
    assert within(without) == ""


def test_where_proc_is_hidden_in_part_the_hardware_is_all_that_can_be_seen() -> None:
    """As in a container: whoever may not see all of the machine's processes may not mount a list of his own."""
    if os.geteuid():
        pytest.skip("these tests run as an ordinary user")

    def inner() -> None:
        pivot_to_minimal_root([], proc=True)
        assert sorted(os.listdir("/proc")) == ["cpuinfo", "meminfo"]
        assert "MemTotal" in Path("/proc/meminfo").read_text()

    def trial() -> None:
        kernel.unshare(kernel.CLONE_NEWNS)
        kernel.mount(None, Path("/"), kernel.MS_REC | kernel.MS_PRIVATE)
        kernel.mount("tmpfs", Path("/proc/sys"), 0, "size=4k")
        os.setresuid(NOBODY, NOBODY, NOBODY)
        namespaces.enter_namespaces()
        if problem := run_in_child(lambda: asserted(inner)):
            raise OSError(problem)

    assert run_in_child(trial) == ""


def test_the_old_root_is_gone_once_it_is_left(within: Within, folder: Path) -> None:
    def trial() -> None:
        build_root([folder / "given"])
        assert os.path.exists(f"/.old{folder}/other/file")
        leave_old_root()
        assert not os.path.exists("/.old")
        assert refused(lambda: kernel.detach_mount(Path("/")) or os.listdir(folder / "other"))

    assert within(trial) == ""


def test_a_child_with_mounts_of_its_own_gets_the_same_root_and_changes_only_its_own(
    within: Within, folder: Path
) -> None:
    def trial() -> None:
        pivot_to_minimal_root([folder / "given"])

        def child() -> None:
            kernel.unshare(kernel.CLONE_NEWNS)
            assert os.listdir(folder) == ["given"]
            kernel.mount("tmpfs", folder / "given", 0, "size=4k")
            assert os.listdir(folder / "given") == []

        assert run_in_child(lambda: asserted(child)) == ""
        assert os.listdir(folder / "given") == ["inner"]

    assert within(trial) == ""


@pytest.mark.parametrize("path", [Path("/"), Path("relative")])
def test_what_is_no_place_below_the_root_is_refused(path: Path) -> None:
    with pytest.raises(ValueError, match="absolute"):
        build_root([path])


def test_nothing_is_left_on_the_machine(within: Within, folder: Path) -> None:
    before = Path("/proc/self/mountinfo").read_text()
    assert within(lambda: pivot_to_minimal_root([folder])) == ""
    assert Path("/proc/self/mountinfo").read_text() == before


def test_what_is_covered_is_hidden_but_for_what_is_kept(within: Within, folder: Path) -> None:
    (folder / "given" / "key").write_text("secret")

    def trial() -> None:
        build_root([folder])
        cover_path(folder / "given", [folder / "given" / "inner", folder / "given" / "inner" / "file"])
        cover_path(folder / "other")
        cover_path(folder / "mine" / "file")
        leave_old_root()
        assert os.listdir(folder / "given") == ["inner"]
        assert (folder / "given" / "inner" / "file").read_text() == "x"
        assert os.listdir(folder / "other") == []
        assert (folder / "mine" / "file").read_text() == ""
        assert refused(lambda: (folder / "other" / "new").write_text("y"))
        assert refused(lambda: (folder / "given" / "inner" / "file").write_text("y"))

    assert within(trial) == ""


def test_a_root_within_the_root_shows_less(within: Within, folder: Path) -> None:
    def trial() -> None:
        build_root([folder])
        prepare_inner_root(Path("/.less"), [folder / "given"])
        leave_old_root()
        assert (folder / "other" / "file").read_text() == "x"
        os.chroot("/.less")
        assert os.listdir(folder) == ["given"]
        assert refused(lambda: Path("/new").write_text("y"))

    assert within(trial) == ""
