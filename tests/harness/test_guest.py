"""A guest answers calls, and whatever it does wrong has a name."""

import mmap
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from oragent.harness import Guest
from oragent._base.errors import CandidateError
from oragent.harness.start_clock import StartClock


def strict(function, number):
    raise CandidateError(f"returned {function(number)}; expected less")


def total(function, numbers):  # a trusted loop, as solvers have them
    return [function(number) for number in numbers]


@pytest.fixture
def guest_of(tmp_path: Path) -> Iterator[object]:
    guests = []

    def make(body: str, **options: object) -> Guest:
        path = tmp_path / f"heuristic{len(guests)}.py"
        path.write_text(f"import numpy as np\n{body}")
        guests.append(Guest(path, "f", **options))
        return guests[-1]

    yield make
    for guest in guests:
        guest.__exit__()


def test_a_call_goes_there_and_back(guest_of) -> None:
    guest = guest_of("def f(a, *, b): return a * b + 1")
    assert guest(np.arange(3), b=2).tolist() == [1, 3, 5]
    assert guest.seconds > 0


def test_a_loop_runs_beside_the_candidate(guest_of) -> None:
    assert guest_of("def f(x): return x * x").run(total, [1, 2, 3]) == [1, 4, 9]


def test_what_a_loop_finds_wanting_keeps_its_status(guest_of) -> None:
    with pytest.raises(CandidateError, match="returned 4") as caught:
        guest_of("def f(x): return x * x").run(strict, 2)
    assert caught.value.status == "invalid"


def test_a_candidate_changes_only_its_own_copy(guest_of) -> None:
    guest, array = guest_of("def f(a):\n    a[:] = 7\n    return a.sum()"), np.zeros(3)
    assert guest(array) == 21
    assert array.sum() == 0


def test_a_new_guest_remembers_nothing(guest_of) -> None:
    guest = guest_of("count = 0\ndef f(x):\n    global count\n    count += 1\n    return count", fresh_processes=True)
    assert guest.run(total, [0, 0, 0]) == [1, 2, 3]
    guest.renew()
    assert [guest(0), guest(0)] == [1, 2]


def test_a_guest_that_was_never_asked_is_not_made_anew(guest_of) -> None:
    guest = guest_of("def f(x): return x", fresh_processes=True)
    first = guest._main
    guest.renew()
    assert guest._main is first


def test_random_numbers_are_a_function_of_the_arguments(guest_of) -> None:
    guest = guest_of("def f(n): return np.random.random(n)", fresh_processes=True)
    first = guest(3).tolist()
    assert guest(3).tolist() == first
    guest.renew()
    assert guest(3).tolist() == first


def test_what_it_prints_goes_to_its_log_in_bounded_space(guest_of) -> None:
    guest = guest_of("def f(n):\n    print('first'); print('x' * n); print('last')\n    return 1")
    assert guest(10**7) == 1
    assert "first" in guest.log
    assert "bytes dropped" in guest.log
    assert len(guest.log) < 20_000


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ("def f(x): return 1 / x", "error", "ZeroDivisionError: division by zero"),
        ("def f(x): raise SystemExit(3)", "error", "SystemExit: 3"),
        ("raise ValueError('at import')\ndef f(x): pass", "error", "ValueError: at import"),
        ("def g(x): return 1", "error", "no function 'f'"),
        ("def f(x): return (x", "rejected", "syntax error in line 2"),
        ("def f(x): return x\0", "rejected", "syntax error: source code string cannot contain null bytes"),
        ("def f(x): return f(x)", "error", "RecursionError"),
        ("import os\ndef f(x): os._exit(0)", "crashed", "ended its own process with exit code 0"),
        ("import ctypes\ndef f(x): ctypes.string_at(0)", "crashed", "ended its own process by SIGSEGV"),
        ("def f(x): return np.zeros(10**11)", "memory", "ran out of memory"),
        ("def f(x): return object()", "invalid", "returned a object"),
        ("def f(x): return 10**5000", "invalid", "returned"),
    ],
)
def test_a_failure_has_a_status_and_a_message(guest_of, body: str, status: str, words: str) -> None:
    guest = guest_of(body)
    guest.where = "size 5, instance 2"
    with pytest.raises(CandidateError, match=words) as caught:
        guest(0)
    assert caught.value.status == status
    assert str(caught.value).endswith("(size 5, instance 2)")


@pytest.mark.slow
def test_a_recursion_that_memory_ends_ran_out_of_memory(guest_of, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORAGENT_MEMORY_MB", "32")
    with pytest.raises(CandidateError) as caught:
        guest_of("import sys\nsys.setrecursionlimit(10**9)\ndef f(x): return f(x)")(0)
    assert caught.value.status == "memory"


def test_a_guest_that_dies_before_it_reads_is_dead_and_no_fault_of_ours(guest_of) -> None:
    guest = guest_of("def f(x): return x")
    os.kill(guest._main.pid, signal.SIGSTOP)
    threading.Timer(0.2, os.kill, (guest._main.pid, signal.SIGKILL)).start()
    with pytest.raises(CandidateError) as caught:
        guest(0)
    assert caught.value.status == "crashed"


@pytest.mark.slow
def test_a_guest_that_the_kernel_ends_at_the_bound_of_a_process_ran_out_of_time(tmp_path: Path) -> None:
    (tmp_path / "heuristic.py").write_text("def f(x):\n    while True: pass")
    lines = (
        "import resource; from pathlib import Path; from oragent._base.errors import CandidateError; from oragent.harness import Guest",
        "resource.setrlimit(resource.RLIMIT_CPU, (3, 3))",
        "try: Guest(Path('heuristic.py'), 'f')(0)",
        "except CandidateError as problem: print(problem.status, problem)",
    )
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "timeout ran out of CPU time\n", done.stderr


def test_it_cannot_write_into_a_file(guest_of, tmp_path: Path) -> None:
    guest = guest_of("def f(path):\n    with open(path, 'w') as file: file.write('x')")
    with pytest.raises(CandidateError):
        guest(str(tmp_path / "made"))


def test_a_traceback_shows_the_candidate_and_not_the_harness(guest_of) -> None:
    with pytest.raises(CandidateError) as caught:
        guest_of("def f(x):\n    return 1 / x")(0)
    assert "return 1 / x" in caught.value.traceback
    assert "inside.py" not in caught.value.traceback


def test_a_dead_guest_is_noticed_at_once(guest_of) -> None:
    guest = guest_of("import os, time\ndef f(x):\n    time.sleep(0.2)\n    os._exit(1)")
    begun = time.perf_counter()
    with pytest.raises(CandidateError):
        guest(0)
    assert time.perf_counter() - begun < 10


def test_a_child_that_holds_the_wire_open_does_not_hide_the_death(guest_of) -> None:
    body = "import os, time\ndef f(x):\n    if os.fork():\n        os._exit(5)\n    time.sleep(30)"
    guest = guest_of(body)
    with pytest.raises(CandidateError, match=r"exit code 5|Resource temporarily|Permission"):
        guest(0)


def test_rubbish_on_the_wire_is_refused(guest_of) -> None:
    body = "import os\ndef f(x):\n    for d in range(3, 256):\n        try: os.write(d, b'\\xff' * 64)\n        except OSError: pass"
    with pytest.raises(CandidateError) as caught:
        guest_of(body)(0)
    assert caught.value.status == "invalid"


def test_the_environment_holds_nothing_but_thread_counts(guest_of, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    seen = guest_of("import os\ndef f(x): return dict(os.environ)")(0)
    assert {name for name in seen if not name.endswith("_NUM_THREADS")} == set()


def test_one_call_may_be_given_a_limit(guest_of) -> None:
    guest = guest_of("import time\ndef f(x): time.sleep(x)")
    guest.limit_s = 0.2
    guest(0)
    begun = time.perf_counter()
    with pytest.raises(CandidateError) as caught:
        guest(60)
    assert caught.value.status == "timeout"
    assert time.perf_counter() - begun < 20


def test_no_file_of_the_scorer_is_inherited(guest_of, tmp_path: Path) -> None:
    with open(tmp_path / "secret", "w") as secret:
        os.set_inheritable(secret.fileno(), True)
        body = "import fcntl\ndef f(x): return [d for d in range(1024) if is_open(d)]\ndef is_open(d):\n"
        guest = guest_of(body + "    try: return fcntl.fcntl(d, fcntl.F_GETFD) >= 0\n    except OSError: return False")
        assert len(guest(0)) == 4  # 0, 1, 2 and the wire


def test_a_guest_ends_with_its_scorer(tmp_path: Path) -> None:
    path = tmp_path / "heuristic.py"
    path.write_text("import os, time\ndef f(x): return os.getpid()")
    reader, writer = os.pipe()
    scorer = os.fork()
    if scorer == 0:
        guest = Guest(path, "f")
        os.write(writer, str(guest(0)).encode())
        time.sleep(60)
    pid = int(os.read(reader, 20))
    os.kill(scorer, signal.SIGKILL)
    os.waitpid(scorer, 0)
    deadline = time.monotonic() + 20
    while os.path.exists(f"/proc/{pid}") and _alive(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not _alive(pid)
    os.close(reader)
    os.close(writer)


def _alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.parametrize(
    "body",
    [
        "class Sly(Exception):\n    def __str__(self): raise SystemExit\ndef f(x): raise Sly",
        "class Sly(Exception):\n    def __str__(self): raise MemoryError\ndef f(x): raise Sly",
        "class Meta(type):\n    __name__ = property(lambda self: 1 / 0)\nclass Sly(Exception, metaclass=Meta):\n"
        "    def __str__(self): return self.f\n    __repr__ = __str__\ndef f(x): raise Sly",
    ],
)
def test_an_exception_that_cannot_be_printed_is_told_all_the_same(guest_of, body: str) -> None:
    with pytest.raises(CandidateError) as caught:
        guest_of(body)(0)
    assert caught.value.status in ("error", "memory")


def test_an_answer_for_which_the_scorer_has_no_room_is_the_candidates_fault(
    guest_of, monkeypatch: pytest.MonkeyPatch
) -> None:
    def decode(*_: object) -> None:
        raise MemoryError

    guest = guest_of("def f(x): return x")
    monkeypatch.setattr("oragent.harness.wire_format.decode", decode)
    with pytest.raises(CandidateError) as caught:
        guest(0)
    assert caught.value.status == "memory"


def test_memory_is_what_a_program_uses_and_not_what_its_libraries_reserve(
    guest_of, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ORAGENT_MEMORY_MB", "200")
    with mmap.mmap(-1, 4 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=mmap.PROT_READ):
        guest = guest_of("def f(mb): return np.ones(mb << 17).sum()")
    assert guest(100) == 100 << 17
    with pytest.raises(CandidateError):
        guest(300)


def test_memory_that_would_not_count_is_refused(guest_of) -> None:
    guest = guest_of("import mmap\ndef f(x): mmap.mmap(-1, 1 << 20)")
    with pytest.raises(CandidateError):
        guest(0)


@pytest.mark.slow
def test_the_time_of_all_calls_is_bounded_but_for_the_first(guest_of) -> None:
    body = "import time\ndone = []\ndef f(x):\n    end = time.process_time() + x\n    while time.process_time() < end: pass"
    guest = guest_of(body)
    guest.heuristic_s = 0.3
    guest.where = "size 20, instance 0"
    guest(0.5)  # more than the limit
    guest(0.15)
    guest.where = "size 100, instance 7"
    with pytest.raises(CandidateError) as caught:
        guest(60)
    assert caught.value.status == "timeout"
    assert "0.3 s" in str(caught.value)
    assert guest.place_seconds["size 100"] > guest.place_seconds["size 20"] > 0


COMPILES = """import time
import numba
def f(x):
    @numba.njit
    def g(a, n):
        total = 0.0
        for i in range(n):
            total += a[i % len(a)]
        return total
    while x == "compile":
        numba.njit(lambda a: a.sum() + a.mean() + a.std())(np.ones(3))
    g(np.ones(3), 5)
    while x == "search" or time.process_time() < 4.5:
        pass
"""


@pytest.mark.slow
@pytest.mark.parametrize("what", ["search", "end"])
def test_a_first_call_out_of_time_tells_compilation_from_search(
    guest_of, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """The first call is ended, or ends by itself just before it would be."""
    monkeypatch.setattr("oragent.harness.guest.FIRST_S", 0.2)
    monkeypatch.setattr("oragent.harness.guest.MIN_START_S", 0.05)  # a fast machine compiles in less than half a second
    if what == "end":
        monkeypatch.setattr(Guest, "_watch_call", lambda *_: None)
    guest = guest_of(COMPILES)
    guest.heuristic_s, guest.where = 4.0, "size 20, instance 0"
    with pytest.raises(CandidateError, match=r"compilation took about ([\d.]+) s") as caught:
        guest(what)
    assert caught.value.status == "timeout"
    (start_s,) = map(float, re.findall(r"about ([\d.]+) s", str(caught.value)))
    assert 0.05 <= start_s < guest.cpu_s - 0.5
    assert guest.cpu_s > 4.2


@pytest.mark.slow
@pytest.mark.parametrize(
    "body",
    [
        COMPILES,
        "while True: pass\ndef f(x): return x",
        "import numba\nwhile True: numba.njit(lambda a: a.sum())(np.ones(3))\ndef f(x): return x",
    ],
)
def test_an_import_or_a_compilation_that_does_not_end_is_told(
    guest_of, monkeypatch: pytest.MonkeyPatch, body: str
) -> None:
    monkeypatch.setattr("oragent.harness.guest.FIRST_S", 0.2)
    # All of it is compilation, except for moments between two functions, in which the limit may be reached.
    told = r"in which imports and compilation did not end"
    if body == COMPILES:
        told += r"|of which imports and compilation took (3\.[5-9]|[4-9])"
    guest = guest_of(body)
    guest.heuristic_s, guest.where = 4.0, "size 20, instance 0"
    with pytest.raises(CandidateError, match=told):
        guest("compile")


@pytest.mark.slow
def test_a_search_without_compilation_tells_the_size(guest_of) -> None:
    guest = guest_of("def f(x):\n    while True: pass")
    guest.heuristic_s, guest.where = 0.3, "size 20, instance 0"
    with pytest.raises(CandidateError, match="20"):
        guest(0)


@pytest.mark.parametrize("fields", [(float("nan"), 0.0, 0.0), (-5.0, float("inf"), 1e308), (1e9, -1e9, 3.0)])
def test_a_clock_with_forged_figures_measures_possible_seconds(fields: tuple[float, float, float]) -> None:
    clock = StartClock()
    clock._write(*fields)
    assert 0 <= clock.measure(2.0)[0] <= 2.0


@pytest.mark.slow
def test_compilation_is_no_time_of_a_size(guest_of, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first call burns 0.6 s more than others, as one that compiles; 0.2 s of a start are free here."""
    monkeypatch.setattr("oragent.harness.guest.FIRST_S", 0.2)
    burn = "    end = time.process_time() + {}\n    while time.process_time() < end: pass\n"
    body = f"import time\ndone = []\ndef f(x):\n{burn.format('0.05 + (0.6 if not done else 0.0)')}    done.append(x)"
    guest = guest_of(body)
    for place in ("size 20, instance 0", "size 20, instance 1", "size 40, instance 0"):
        guest.where = place
        guest(1)
    guest.end()
    times = guest.place_seconds
    assert list(times) == ["size 20", "size 40"]
    # A loaded machine makes calls longer, but not by the 0.6 s of the first one.
    assert 0.1 <= times["size 20"] < 0.4
    assert 0.05 <= times["size 40"] < 0.35
    assert guest.start_seconds == pytest.approx(0.6, abs=0.2)
    assert guest.heuristic_seconds == pytest.approx(guest.start_seconds - 0.2 + sum(times.values()), abs=0.01)


def test_a_single_call_is_told_without_imports_alone(guest_of) -> None:
    burn = "    end = time.process_time() + {}\n    while time.process_time() < end: pass\n"
    guest = guest_of(f"import time\nif True:\n{burn.format(0.4)}def f(x):\n{burn.format(0.2)}    return x")
    guest.where = "size 20, instance 0"
    guest(1)
    # A loaded machine makes a call longer, but not by the 0.4 s of the import.
    assert 0.2 <= guest.heuristic_seconds < 0.35
    # All of it is time of the size, so that more instances take more of it.
    assert guest.place_seconds == {"size 20": pytest.approx(guest.heuristic_seconds, abs=0.01)}


@pytest.mark.parametrize(
    ("first_s", "second_s", "uncounted_s"),
    [
        # The process had used 1.5 s after the first call and 2 s after the second one, so a call takes 0.5 s.
        (1.5, 2.0, 0.5),
        # The start took 4.8 s, and only 5 s do not count.
        (5.3, 5.8, 0.2),
        # The start took more than that.
        (9.0, 9.5, 0.0),
        # The second call is longer than all before.
        (1.0, 4.0, 1.0),
        # Of a single call all is counted, and of none there is nothing.
        (1.5, None, 0.0),
        (None, None, 0.0),
    ],
)
def test_a_guest_tells_how_much_of_its_first_call_does_not_count(
    guest_of, first_s: float | None, second_s: float | None, uncounted_s: float
) -> None:
    guest = guest_of("def f(x): return x")
    assert guest.uncounted_s == 0.0
    guest._main.first_s, guest._main.second_s = first_s, second_s
    assert guest.uncounted_s == pytest.approx(uncounted_s)


def test_a_loop_tells_what_its_first_call_took(guest_of) -> None:
    body = "import time\ndef f(x):\n    end = time.process_time() + x\n    while time.process_time() < end: pass\n    return x"
    guest = guest_of(body)
    assert guest.run(total, [0.4, 0.1]) == [0.4, 0.1]
    assert 0.1 <= guest.heuristic_seconds < 0.3
