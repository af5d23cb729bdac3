"""What strangers wrote is read in a child with limits: nothing hangs, grows or ends the process that asks."""

import asyncio
import os
import resource
import signal
import threading
from contextlib import suppress
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.errors import CandidateError, OragentError, ReplyError
from oragent.programs import inspection, parser_client, parser_worker, size_limits, syntax
from oragent.programs.inspection import inspect_program
from oragent.programs.parser_client import ParseLimitExceeded, ParserClient, run_briefly
from oragent.programs.replies import apply_edits, extract_code, extract_json
from oragent.programs.syntax import Signature

WANTED = Signature("guess", ("x",), "def guess(x):")
GOOD = "def guess(x):\n    return x\n"
HANGING = "def guess(x):\n    return x  # HANG\n"  # in the compiler, deaf to everything, if the child is told so
CHAIN = "a0 = 1\n" + "".join(f"def f{n}(): return f{n - 1}\n" for n in range(1, 3_500)) + "def guess(x): return f3499\n"


def nested(head: str, depth: int, end: str = "pass", tail: str = "") -> str:
    """A statement within itself, in a function."""
    lines = [" " * (level + 1) + line for level in range(depth) for line in head.split("\n")]
    ends = [" " * (level + 1) + tail for level in reversed(range(depth))] if tail else []
    return "def guess(x):\n" + "\n".join([*lines, " " * (depth + 2) + end, *ends]) + "\n"


ODD = {
    "nested finally": nested("try: pass\nfinally:", 60),
    "returns through finally": "def guess(x):\n try:\n" + "  if x: return 1\n" * 900 + " finally:\n" + "  x += 1\n" * 900,
    "loops left through finally": nested("for i in x:\n try:\n  break\n finally:", 1, "pass")
    + "def f(x):\n" + " while x:\n  try:\n" + "   if x: continue\n" * 500 + "  finally:\n" + "   x()\n" * 3000,
    "nested f-strings": "def guess(x): return " + "f'{" * 60 + "x" + "}'" * 60,
    "f-strings in brackets": "def guess(x): return f'''{" + "(" * 90 + "x" + ")" * 90 + "}'''",
    "parentheses": "def guess(x): return " + "(" * 150 + "x" + ")" * 150,
    "open parentheses": "(" * 5_000,
    "brackets of all kinds": "([{" * 3_000,
    "dotted names": "from " + "a." * 40_000 + "a import a\n" + GOOD,
    "dotted names with spaces": "import " + "a . " * 20_000 + "a\n" + GOOD,
    "dotted names over lines": "import " + "a.\\\n" * 15_000 + "a\n" + GOOD,
    "decimal digits": f"def guess(x): return {'9' * 90_000}",
    "hexadecimal digits": f"def guess(x): return 0x{'f' * 90_000}",
    "binary digits": f"def guess(x): return 0b{'1' * 90_000}",
    "float digits": f"def guess(x): return {'9' * 90_000}.0\n",
    "comprehensions": "def guess(x): return " + "[" * 50 + "y" + " for y in x]" * 50,
    "comprehension of many loops": "def guess(x): return [y" + " for y in x" * 8_000 + "]",
    "lambdas": "def guess(x): return " + "lambda: " * 3_000 + "1",
    "defaults of lambdas": "def guess(x): return " + "lambda y=" * 90 + "1" + ": 1" * 90,
    "decorators": "@a\n" * 20_000 + GOOD,
    "not": "def guess(x): return " + "not " * 20_000 + "x",
    "minus": "def guess(x): return " + "-" * 90_000 + "x",
    "sums": "def guess(x): return " + "+".join(["x"] * 40_000),
    "comparisons": "def guess(x): return " + "<".join(["x"] * 40_000),
    "calls of calls": "def guess(x): return x" + "()" * 40_000,
    "unknown keyword calls": "f(" * 90 + "a=1 b" + ")" * 90,
    "elif": "def guess(x):\n if x: pass\n" + " elif x: pass\n" * 5_000,
    "with": nested("with x:", 90, "return 1"),
    "with of many": "def guess(x):\n with " + ", ".join(["x as y"] * 10_000) + ": return 1",
    "walrus": "def guess(x): return " + "(y := " * 90 + "x" + ")" * 90,
    "match of many": "def guess(x):\n match x:\n" + "  case [a, *b] | {1: a, **b} | C(a, b=b): pass\n" * 1_500,
    "match of one": "def guess(x):\n match x:\n  case " + "|".join(["[y]"] * 20_000) + ": pass",
    "nested patterns": "def guess(x):\n match x:\n  case " + "[" * 90 + "y" + "]" * 90 + ": pass",
    "global": "def guess(x):\n" + " global y\n" * 10_000,
    "repeated text": "def guess(x): return 'a' * 10 ** 9",
    "powers": "def guess(x): return 9 ** 9 ** 9 ** 9",
    "folded shifts": "def guess(x): return 1 << (1 << (1 << 40))",
    "texts in a row": "def guess(x): return " + "'a' " * 20_000,
    "type comments": "def guess(x):  # type: (" + "(" * 5_000 + ") -> int\n    return x\n",
    "encoding cookie": "# -*- coding: utf-7 -*-\n" + GOOD,
    "encoding that there is not": "# coding: no-such-thing\n" + GOOD,
    "null": GOOD + "\0",
    "surrogate": GOOD + "y = '\ud800'\n",
    "surrogate as a name": "def guess(\udcff): pass\n",
    "bidirectional marks": "def guess(x): return '\u202e' + x  # \u2066\n",
    "null width": "def guess(x):\u200b return x",
    "look-alikes": "def gue\u017f\u017f(x): return \uff58\n",
    "form feeds": "def guess(x):\n\f    return x\n",
    "line separators": "def guess(x):\u2028    return x\n",
    "carriage returns": "def guess(x):\r    return x\r",
    "tabs and spaces": "def guess(x):\n        y = 1\n\treturn y\n",
    "indents": "if 1:\n" + "".join(" " * level + "if 1:\n" for level in range(1, 150)) + " " * 160 + "pass\n",
    "blank lines": "\n" * 90_000,
    "backslashes": "\\\n" * 40_000 + GOOD,
    "semicolons": ";".join(["x=1"] * 20_000),
    "definitions that use each other": CHAIN,
}  # fmt: skip


HANGS = """
def hanging(known):
    def work(**fields):
        if any('HANG' in str(value) for value in fields.values()):
            sum(range(10 ** 15))
        return known(**fields)
    return work
e.CPU_S = 0.5
e.REQUESTS.update({kind: hanging(known) for kind, known in e.REQUESTS.items()})
"""


def told(code: str) -> str:
    """What a child begins with that is changed first."""
    change = f"import oragent.programs.parser_worker as e; exec({code!r}); main()"
    return parser_client.BEGIN.replace("main()", change)


@pytest.fixture
def own() -> "ParserClient":
    """An examiner of the test's own."""
    made = ParserClient()
    yield made
    made.close()


@pytest.fixture
def hangs(own: ParserClient, monkeypatch: pytest.MonkeyPatch) -> ParserClient:
    """An examiner whose child hangs where a text says so, asked by all."""
    monkeypatch.setattr(parser_client, "BEGIN", told(HANGS))
    monkeypatch.setattr(parser_client, "request", own.request)
    inspection._inspected.clear()
    return own


@pytest.mark.slow
@pytest.mark.parametrize("text", ODD.values(), ids=ODD)
def test_an_odd_text_is_looked_at_or_refused_in_one_line(text: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF)
    found = inspect_program(text, WANTED)
    after = resource.getrusage(resource.RUSAGE_SELF)
    assert "\n" not in found.problem
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 1.0  # of ours, whatever the child's
    assert (after.ru_maxrss - before.ru_maxrss) >> 10 < 200
    if not found.problem:
        inspection.parse_tree(text)  # then it does no harm here
    assert inspect_program(GOOD, WANTED).problem == ""


@pytest.mark.slow
@pytest.mark.parametrize("text", ODD.values(), ids=ODD)
def test_a_reply_that_holds_it_is_read_or_refused_in_one_line(text: str) -> None:
    for reply in (f"```python\n{text}\n```", text):
        said = ""
        try:
            assert "gue" in extract_code(reply, "guess", GOOD)
        except ReplyError as problem:
            said = str(problem)
        assert "\n" not in said


@pytest.mark.slow
def test_what_takes_too_long_is_said_to_and_costs_its_time_once(hangs: ParserClient) -> None:
    hangs.request("vet", source=GOOD)
    first = hangs._process
    found = inspect_program(HANGING, WANTED)
    assert found.problem == "the text takes more than 2 s to be read and compiled; write a simpler program"
    assert found.canonical == HANGING
    assert first.returncode == -signal.SIGPROF
    assert hangs._process is None
    inspection._inspected.clear()
    assert inspect_program(HANGING, WANTED) == found
    assert hangs._process is None  # nobody was asked again
    with pytest.raises(CandidateError, match="2 s"):
        inspection.parse_tree(HANGING)
    with pytest.raises(ReplyError, match="2 s"):
        extract_code(HANGING, "guess")
    with pytest.raises(ReplyError, match="2 s"):
        extract_json(HANGING)
    assert inspection.lay_out(HANGING) == HANGING
    assert inspect_program(GOOD + "\n", WANTED).problem == ""


@pytest.mark.slow
def test_what_takes_too_much_memory_is_said_to(own: ParserClient) -> None:
    fields = {"tokens": ["a"], "candidates": [["a"]], "threshold": 0.5}
    assert own.request("nearest", **fields) == {"place": 0}
    huge = "[" + "[]," * 12_000_000 + "]"  # forty bytes a list
    with pytest.raises(ParseLimitExceeded):
        own.request("json", text=huge)
    assert own.request("nearest", **fields) == {"place": 0}


def test_a_child_that_dies_of_something_else_is_replaced_and_nobody_is_blamed(own: ParserClient) -> None:
    own.request("vet", source=GOOD)
    assert own._process
    first = own._process.pid
    os.kill(first, signal.SIGKILL)
    assert own.request("vet", source=GOOD) == {"problem": "", "length": syntax.count_nodes(GOOD)}
    assert own._process.pid != first


@pytest.mark.parametrize(
    ("code", "attempts", "reason"),
    [
        (-signal.SIGSEGV, parser_client.STARTS, "SIGSEGV"),
        (-signal.SIGHUP, parser_client.STARTS, "SIGHUP"),
        (0, parser_client.STARTS, "exit code 0"),
        (3, parser_client.STARTS, "exit code 3"),
        # The timer of the kernel ends it: more time would be no use.
        (-signal.SIGPROF, 1, f"{parser_worker.CPU_S:g} s"),
    ],
)
def test_a_text_under_which_every_child_dies_is_to_blame(
    own: ParserClient, monkeypatch: pytest.MonkeyPatch, code: int, attempts: int, reason: str
) -> None:
    dead = []

    def deadly(process, body):
        dead.append(process)
        process.kill()
        process.wait()
        raise parser_client._WorkerEnded(code)

    monkeypatch.setattr(parser_client, "_send_request", deadly)
    with pytest.raises(ParseLimitExceeded) as caught:
        own.request("vet", source=GOOD)
    assert reason in str(caught.value)
    assert len(dead) == attempts
    monkeypatch.undo()
    with pytest.raises(ParseLimitExceeded):  # it is remembered
        own.request("vet", source=GOOD)
    assert own.request("vet", source=GOOD + "\n")["problem"] == ""


@pytest.mark.slow
@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"x",
        parser_worker.HEAD.pack(1 << 40),
        parser_worker.HEAD.pack(3) + b"abc",
        parser_worker.HEAD.pack(2) + b"[]",
        parser_worker.HEAD.pack(6) + b"\xff\xfe\xff\xfe\xff\xfe",
        parser_worker.HEAD.pack(60_000) + b"[" * 60_000,
    ],
)
def test_an_answer_that_is_none_is_the_end_of_that_child(own: ParserClient, said: bytes, monkeypatch) -> None:
    own.request("vet", source=GOOD)
    monkeypatch.setattr(parser_client, "PATIENCE_S", 0.2)
    reading, writing = os.pipe()
    os.write(writing, said)
    os.close(writing)
    real = own._process.stdout
    own._process.stdout = os.fdopen(reading, "rb", buffering=0)
    real.close()
    monkeypatch.setattr(parser_client, "STARTS", 1)
    with pytest.raises(ParseLimitExceeded):
        own.request("vet", source=GOOD)
    assert own._process is None


@pytest.mark.parametrize("answer", [{}, {"problem": 3}, {"problem": ""}, {"problem": "", "canonical": 1, "length": 2}])
def test_an_answer_of_another_form_is_not_believed(answer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parser_client, "request", lambda kind, **fields: answer)
    with pytest.raises(OragentError):
        inspect_program(f"{GOOD}# {answer}\n", WANTED)


def test_an_interrupt_ends_the_request_and_not_the_next_one(hangs: ParserClient) -> None:
    hangs.request("vet", source=GOOD)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)  # a thread that interrupts may come too late
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        with pytest.raises(KeyboardInterrupt):
            hangs.request("vet", source=HANGING)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert hangs._process is None
    assert hangs.request("vet", source=GOOD) == {"problem": "", "length": syntax.count_nodes(GOOD)}


def test_it_takes_requests_from_several_threads(own: ParserClient) -> None:
    wanted = {number: syntax.count_nodes(f"x = {'-' * number}1") for number in range(20)}
    found: dict[int, int] = {}

    def work(number: int) -> None:
        found[number] = own.request("vet", source=f"x = {'-' * number}1")["length"]

    threads = [threading.Thread(target=work, args=(number,)) for number in wanted]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == wanted


def test_a_fork_of_ours_asks_a_child_of_its_own(own: ParserClient) -> None:
    own.request("vet", source=GOOD)
    reading, writing = os.pipe()
    if (child := os.fork()) == 0:
        os.write(writing, str(own.request("vet", source=GOOD)["length"]).encode())
        own.close()
        os._exit(0)
    os.waitpid(child, 0)
    assert int(os.read(reading, 100)) == own.request("vet", source=GOOD)["length"]


def test_a_child_that_cannot_start_is_our_trouble_and_said_to_be(own: ParserClient, monkeypatch) -> None:
    for begin, reason in (("raise SystemExit('no library')", "no library"), ("raise SystemExit(7)", "7")):
        monkeypatch.setattr(parser_client, "BEGIN", begin)
        with pytest.raises(OragentError, match=reason):
            own.request("vet", source=GOOD)


def test_keys_of_the_terminal_do_not_reach_the_child(own: ParserClient) -> None:
    own.request("vet", source=GOOD)
    assert os.getsid(own._process.pid) == own._process.pid


@pytest.mark.parametrize(
    "change",
    [
        "pack = e.pack_message; e.pack_message = lambda message: pack(message) * (1 + ('last' in message))",
        "e.WORN_MB = -1",
    ],
    ids=["says more than its answer", "holds much memory"],
)
def test_a_child_that_could_harm_the_next_request_is_replaced(own: ParserClient, monkeypatch, change: str) -> None:
    monkeypatch.setattr(parser_client, "BEGIN", told(change))
    for _ in range(2):
        assert own.request("vet", source=GOOD)["problem"] == ""
        assert own._process is None


def test_a_child_that_sleeps_is_ended(own: ParserClient, monkeypatch) -> None:
    monkeypatch.setattr(parser_client, "BEGIN", told("import time; e.REQUESTS['vet'] = lambda source: time.sleep(600)"))
    own.request("layout", source=GOOD)
    process = own._process
    monkeypatch.setattr(parser_client, "PATIENCE_S", 0.1)
    monkeypatch.setattr(parser_client, "STARTS", 1)
    with pytest.raises(ParseLimitExceeded):
        own.request("vet", source=GOOD)
    assert process.returncode == -signal.SIGKILL


def test_an_event_loop_waits_for_no_other_thread(own: ParserClient) -> None:
    own.request("vet", source=GOOD)
    is_held, may_end = threading.Event(), threading.Event()

    def hold() -> None:
        with own._lock:
            is_held.set()
            may_end.wait()

    threads = []

    def work() -> str:
        threads.append(threading.get_ident())
        if len(threads) > 1:
            may_end.set()
        return own.request("vet", source=GOOD)["problem"]

    holder = threading.Thread(target=hold, daemon=True)
    holder.start()
    is_held.wait()
    assert asyncio.run(run_briefly(work)) == ""
    holder.join()
    assert len({*threads}) == len(threads) == 2


@pytest.mark.parametrize("is_large", [False, True])
def test_what_takes_long_goes_on_in_a_thread(own: ParserClient, monkeypatch, is_large: bool) -> None:
    threads = []

    def work() -> str:
        threads.append(threading.get_ident())
        return own.request("vet", source=GOOD + "#" * parser_client.BRIEF_BYTES * is_large)["problem"]

    monkeypatch.setattr(parser_client, "BRIEF_S", 5.0)
    if is_large:
        own.request("vet", source=GOOD)
    # The child must be started, or the pipe does not take the text at once.
    assert asyncio.run(run_briefly(work)) == ""
    assert len({*threads}) == len(threads) == 2


def test_the_child_may_neither_write_nor_open_what_is_ours(own: ParserClient, tmp_path, monkeypatch) -> None:
    """What a text could do that has won the child: here it is told to try."""
    (tmp_path / "secret").write_text("s")
    tmp_path.chmod(0o755)
    tries = f"""
import os, socket
def tried(action):
    try: action()
    except BaseException as problem: return type(problem).__name__
    return 'done'
def report(source):
    return {{"problem": str([
        tried(lambda: open({str(tmp_path / "secret")!r}).read()), tried(lambda: open({str(tmp_path / "new")!r}, 'w')),
        tried(lambda: socket.socket()), tried(lambda: os.fork()), tried(lambda: os.kill({os.getpid()}, 0)),
        [name for name in os.environ if 'KEY' in name]]), "length": 0}}
"""
    monkeypatch.setattr(parser_client, "BEGIN", told(f"{tries}\ne.REQUESTS['vet'] = report"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    said = own.request("vet", source="")["problem"]
    opened, made, connected, forked, killed, keys = eval(said)
    assert made != "done"
    assert forked != "done"
    assert keys == []
    if "limits" not in os.environ.get("ORAGENT_ISOLATION", ""):
        assert {opened, connected, killed}.isdisjoint({"done"})


STATEMENTS = st.sampled_from(
    [
        "import numpy as np", "from math import sqrt", "from numpy import nothing", "N = 3", "def help(a): return a + N",
        "def guess(x):\n    '''Guess.'''\n    # all\n    y = [z for z in x if z]\n    return sum(y)",
        "def guess(x, k=2):\n    total = 0.0\n    for i, v in enumerate(x):\n        total += v * i\n    return total",
        "def guess(x: list) -> float:\n    def inner(q): return q * N\n    return inner(x)",
        "def guess(y): return y", "class A:\n    b = 1", "x = lambda: eval('1')", "return 3", "def f(:", "é = 'ü'",
        "def guess(x):\n    try:\n        return max(x, key=lambda v: -v)\n    finally:\n        N",
    ]
)  # fmt: skip


@given(st.lists(STATEMENTS, max_size=5).map("\n".join))
def test_the_child_sees_what_would_be_seen_here(source: str) -> None:
    here = parser_worker.inspect_local(source, WANTED)
    inspection._inspected.clear()
    assert inspect_program(source, WANTED) == here


@given(st.text(max_size=40))
def test_any_text_is_looked_at_alike_there_and_here(source: str) -> None:
    assert inspect_program(source, WANTED) == parser_worker.inspect_local(source, WANTED)


def test_only_what_the_child_has_passed_is_parsed_here(monkeypatch: pytest.MonkeyPatch) -> None:
    source = "def guess(x):\n    return x - 4711\n"
    monkeypatch.setattr(parser_client, "request", lambda kind, **fields: {"problem": "no"})
    with pytest.raises(CandidateError):
        inspection.parse_tree(source)
    with pytest.raises(CandidateError):
        inspection.program_length(source)
    inspection.mark_safe(source)
    assert inspection.parse_tree(source).body
    assert inspect_program(source, WANTED).problem == ""


def test_a_program_of_as_many_bytes_lines_and_levels_as_may_be_is_taken() -> None:
    table = "T = [\n" + "1,\n" * (size_limits.MAX_LINES - 5) + "]\n" + GOOD
    assert inspect_program(table, WANTED).problem == ""
    assert "lines" in inspect_program("\n" * 10 + table, WANTED).problem
    long = GOOD + "#" * (size_limits.MAX_BYTES - len(GOOD))
    assert inspect_program(long, WANTED).problem == ""
    assert "bytes" in inspect_program(long + "#", WANTED).problem
    deep = nested("try: pass\nfinally:", 12)
    assert inspect_program(deep, WANTED).problem == ""
    assert inspect_program("N = 0x" + "f" * 3_000 + "\n" + GOOD, WANTED).problem == ""
    assert "digits" in inspect_program("N = 0x" + "f" * 3_001 + "\n" + GOOD, WANTED).problem
    assert inspect_program("T = '0x" + "f" * 9_000 + "'\n" + GOOD, WANTED).problem == ""


def test_a_reply_is_read_up_to_a_length(monkeypatch: pytest.MonkeyPatch) -> None:
    prose = "word " * (size_limits.MAX_REPLY // 5 - 20)
    assert extract_code(f"{prose}\n```python\n{GOOD}```", "guess") == GOOD
    for read in (lambda text: extract_code(text, "guess"), extract_json):
        with pytest.raises(ReplyError, match="400,000"):
            read(prose * 2)


def test_a_program_is_looked_at_as_it_is_taken_out_of_a_reply(
    own: ParserClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    monkeypatch.setattr(
        parser_client, "request", lambda kind, **fields: (asked.append(kind), own.request(kind, **fields))[1]
    )
    source = extract_code(f"```python\n{GOOD}# once\n```", WANTED.function, None, WANTED)
    found = inspect_program(source, WANTED)
    assert asked == ["code"]
    assert found == parser_worker.inspect_local(source, WANTED)
    assert extract_code("```python\ndef another(): pass\n```", "another", None, WANTED) == "def another(): pass\n"


SIGNATURE = syntax.signature_to_json(WANTED)
FORM = {"problem": "", "length": syntax.count_nodes(GOOD), "canonical": GOOD.strip()}
EDIT = "<<<<<<< SEARCH\n{}\n=======\nb\n>>>>>>> REPLACE"


# Stands for any line.
REASON = "..."


@pytest.mark.parametrize(
    ("kind", "fields", "answer"),
    [
        ("inspect", {"source": GOOD, "signature": SIGNATURE}, FORM),
        ("vet", {"source": "def f(): return 1"}, {"problem": "", "length": 5}),
        ("vet", {"source": "return 1"}, {"problem": REASON, "length": 0}),
        ("layout", {"source": "x=(1)"}, {"text": "x = 1"}),
        ("layout", {"source": "x=("}, {"text": "x=("}),
        ("expression", {"text": " x+1 "}, {"problem": ""}),
        ("expression", {"text": "x\n+ 1"}, {"problem": REASON}),
        ("expression", {"text": "x)+(y"}, {"problem": REASON}),
        ("code", {"text": GOOD, "function": "guess", "parent": None}, {"source": GOOD}),
        ("code", {"text": GOOD, "function": "guess", "parent": None, "signature": SIGNATURE}, {"source": GOOD}),
        ("code", {"text": GOOD, "function": "guess", "parent": None, "look": True}, {"source": GOOD}),
        (
            "code",
            {"text": GOOD, "function": "guess", "parent": None, "signature": SIGNATURE, "look": True},
            {"source": GOOD, "inspected": FORM},
        ),
        ("code", {"text": "", "function": "guess", "parent": None}, {"problem": REASON}),
        ("edits", {"text": EDIT.format("a"), "parent": "a"}, {"source": "b\n"}),
        ("edits", {"text": EDIT.format("c"), "parent": "a"}, {"problem": REASON}),
        ("json", {"text": 'So {"a": [1,]}'}, {"value": '{"a": [1]}'}),
        ("json", {"text": "none"}, {"problem": REASON}),
        ("json", {"text": "[" * 100_000}, {"problem": REASON}),
        ("likeness", {"first": "x = 1", "second": "y = 2"}, {"share": 1.0}),
        ("nearest", {"tokens": "ab", "candidates": ["cd", "ab"], "threshold": 0.5}, {"place": 1}),
        ("spread", {"source": GOOD, "frame": ["", "def guess(): pass\n", ""]}, {"blocks": [GOOD]}),
        ("spread", {"source": "def (", "frame": ["", "", ""]}, {"problem": REASON}),
    ],
)
def test_each_request_has_its_answer(kind: str, fields: dict, answer: dict) -> None:
    found = parser_worker._answer_request(kind, fields)["answer"]
    if answer.get("problem") == REASON:
        assert found["problem"]
        assert "\n" not in found["problem"]
        found = found | {"problem": REASON}
    assert found == answer
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)


@pytest.mark.parametrize(("error", "trouble"), [(MemoryError, "memory"), (RecursionError, "depth")])
def test_what_a_request_lacked_is_told(own: ParserClient, monkeypatch, error: type[Exception], trouble: str) -> None:
    def fail(source: str) -> dict:
        raise error

    monkeypatch.setitem(parser_worker.REQUESTS, "vet", fail)
    assert parser_worker._answer_request("vet", {"source": ""}) == {"trouble": trouble}
    change = f"def fail(source): raise {error.__name__}\ne.REQUESTS['vet'] = fail"
    monkeypatch.setattr(parser_client, "BEGIN", told(change))
    with pytest.raises(ParseLimitExceeded, match="MB" if trouble == "memory" else "nested"):
        own.request("vet", source="")
    assert own._process is None


def test_lengths_of_replies_and_of_what_is_read_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(parser_client, "request", lambda kind, **fields: (asked.append(kind), {"source": "x" * 30})[1])
    for limit in (30, 29):
        monkeypatch.setattr(size_limits, "MAX_REPLY", limit)
        monkeypatch.setattr(size_limits, "MAX_BYTES", 0)
        for read in (lambda: extract_code("x", "f"), lambda: apply_edits("x", "")):
            if limit == 30:
                assert read() == "x" * 30
            else:
                with pytest.raises(ReplyError):
                    read()
    assert len(asked) == 4
    monkeypatch.setattr(size_limits, "MAX_REPLY", 30)
    assert extract_code("x" * 30, "f")
    with pytest.raises(ReplyError):
        extract_code("x" * 31, "f")
    assert len(asked) == 5


@pytest.mark.parametrize("answer", [{}, {"source": 3}, {"value": "{"}, {"value": "[" * 100_000}])
def test_an_answer_without_what_was_asked_is_an_error_of_the_reply(answer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parser_client, "request", lambda kind, **fields: answer)
    for read in (lambda: extract_code("x", "f"), lambda: extract_json("x")):
        with pytest.raises(ReplyError):
            read()


def test_a_reply_is_read_though_its_program_cannot_be_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(kind: str, **fields: object) -> dict[str, object]:
        if fields["look"]:
            raise ParseLimitExceeded("too much")
        return {"source": GOOD}

    monkeypatch.setattr(parser_client, "request", ask)
    assert extract_code("...", WANTED.function, None, WANTED) == GOOD


def test_a_usual_text_needs_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    inspect_program("def guess(x):\n    return x - 1\n", WANTED)  # the child is there
    monkeypatch.setattr(parser_client, "BRIEF_S", 5.0)  # whatever else this machine does
    monkeypatch.setattr(asyncio, "to_thread", lambda *work: pytest.fail("a thread"))
    found = asyncio.run(run_briefly(lambda: inspect_program("def guess(x):\n    return x - 2\n", WANTED)))
    assert found.problem == ""


@pytest.mark.slow
def test_an_event_loop_waits_for_no_text(hangs: ParserClient) -> None:
    texts = [HANGING, GOOD, HANGING.replace("x", "y"), GOOD + "\n", "def guess(x):\n    return x * 3\n"]

    async def all_of_them() -> tuple[list[tuple[int | None, bool]], int]:
        answers = [asyncio.create_task(run_briefly(partial(looked_at, hangs, text))) for text in texts]
        turns = 0
        while not all(answer.done() for answer in answers):
            await asyncio.sleep(0.01)
            turns += 1
        return [answer.result() for answer in answers], turns

    hangs.request("vet", source=GOOD)
    said, turns = asyncio.run(all_of_them())
    assert [trouble for _, trouble in said] == [True, False, True, False, False]
    assert [lines for lines, _ in said] == [None, 2, None, 2, 2]  # each has its own answer
    assert turns > 5  # 1 s of the child's time


def looked_at(child: ParserClient, text: str) -> tuple[int | None, bool]:
    """Lines of what the child makes of a program, and whether it was the end of it."""
    try:
        return child.request("layout", source=text)["text"].count("\n") + 1, False
    except ParseLimitExceeded:
        return None, True


def test_an_answer_that_nobody_waited_for_goes_to_nobody_else(own: ParserClient) -> None:
    own.request("vet", source=GOOD)
    for place in range(20):
        with suppress(parser_client._NotReadyYet):
            parser_client._THIS_THREAD.is_brief = True
            own.request("layout", source=f"def guess(x):\n    return {place}\n")
        parser_client._THIS_THREAD.is_brief = False
        assert own.request("layout", source=f"def guess(x):\n    return -{place}\n")["text"].endswith(f"-{place}")
