"""Reading in a child process: content and form arrive, and each way to fail is an error of the class that the caller names."""

import pytest

from oragent._base.errors import TableError
from oragent.sandbox import reading
from oragent.sandbox.reading import read_in_child

# Readers, as a module in the child.
READERS = """
import atexit, os, signal, time
from oragent._base.errors import ModellingError

def describe(content, form):
    print("libraries print, too")
    os.system("echo and programs")
    return f"{form} {content.decode()[::-1]} é"

def name_half_a_character(content, form):
    return "a\\ud800b"

def crash_at_the_end(content, form):
    atexit.register(os.abort)
    return "read"

def refuse(content, form):
    raise ModellingError(f"line 1 \\x1b[31m of {form}" + "x" * 2000)

def crash(content, form):
    os.kill(os.getpid(), signal.SIGSEGV)

def fail(content, form):
    raise KeyError(form)

def spin(content, form):
    while True:
        pass

def wait(content, form):
    time.sleep(60)

def fill(content, form):
    return str(len(bytearray(2 << 30)))
"""


@pytest.fixture(autouse=True)
def readers(monkeypatch: pytest.MonkeyPatch) -> None:
    module = f"import types; module = types.ModuleType('readers'); exec({READERS!r}, vars(module)); "
    registered = "import sys; sys.modules['readers'] = module; "
    monkeypatch.setattr(reading, "CHILD", module + registered + reading.CHILD)


def test_the_function_gets_content_and_form_and_its_text_alone_is_returned() -> None:
    assert read_in_child("readers:describe", b"abc", ".csv", TableError).decode() == ".csv cba é"


def test_half_a_character_does_not_spoil_the_text() -> None:
    assert read_in_child("readers:name_half_a_character", b"", ".pdf", TableError) == b"a?b"


def test_a_library_that_crashes_as_python_ends_changes_no_answer() -> None:
    assert read_in_child("readers:crash_at_the_end", b"", "", TableError) == b"read"


@pytest.mark.parametrize("function", ["refuse", "crash", "fail"])
def test_each_failure_is_the_error_of_the_caller_in_one_short_line(function: str) -> None:
    with pytest.raises(TableError) as problem:
        read_in_child(f"readers:{function}", b"abc", "form", TableError)
    text = str(problem.value)
    assert text.isprintable()
    assert len(text) <= reading.MAX_REFUSAL
    assert ("line 1" in text) == (function == "refuse")


def test_bytes_that_are_no_text_are_refused_as_such() -> None:
    with pytest.raises(TableError, match="UTF-8"):
        read_in_child("readers:describe", b"\xff", "", TableError)


@pytest.mark.slow
@pytest.mark.parametrize("function", ["spin", "fill"])
def test_time_and_memory_are_limited(function: str) -> None:
    with pytest.raises(TableError, match="1 CPU seconds and 1 GiB"):
        read_in_child(f"readers:{function}", b"", "", TableError, cpu_s=1, memory=1 << 30)


@pytest.mark.slow
def test_the_default_memory_suffices_for_what_a_smaller_limit_refuses() -> None:
    assert read_in_child("readers:fill", b"", "", TableError).decode() == str(2 << 30)


@pytest.mark.slow
def test_a_child_that_waits_is_ended() -> None:
    with pytest.raises(TableError):
        read_in_child("readers:wait", b"", "", TableError, cpu_s=1)


@pytest.mark.slow
def test_each_mebibyte_adds_a_second() -> None:
    with pytest.raises(TableError, match="3 CPU seconds"):
        read_in_child("readers:spin", bytes(2 << 20), "", TableError, cpu_s=1)
