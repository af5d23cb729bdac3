"""Stand-ins for a candidate in the process of an evaluator that was written for other frameworks.

A stand-in is a Python text. Its functions send their arguments to the candidate's own process and return the answer; no
line of the candidate is in it. Evaluators may import it, execute it, or start a process that does. The text defines:

- functions of the seed that evolve, as calls of the candidate;
- the fixed text of the seed, if it has markers around the part that evolves; imports and constants of that part.

The scorer answers its own calls directly. Processes that the evaluator starts are answered through named pipes in a
private folder, as their file descriptors may be closed and sockets are forbidden.
"""

import ast
import itertools
import os
import shutil
import tempfile
import threading
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, Self

from oragent.harness import wire_format
from oragent._base.ast_utils import tree_of
from oragent._base.errors import CandidateError, ProblemError
from oragent._base.protocol import Status
from oragent.harness.exact_values import ExactArrays, encode_callback, read_callback_answer, serve_callback
from oragent.harness.guest import Guest
from oragent.harness.wire_format import FrameError
from oragent.programs import regions

# Value of an argument that a caller left out.
UNSET: Any = type("Unset", (), {"__repr__": lambda self: "UNSET"})()
# Each function has its own import, because an evaluator may execute the text in a space that it does not see.
HEADER = "from oragent.harness.stand_ins import UNSET as _unset\n"
FUNCTION = """def {name}({parameters}):
    from oragent.harness.stand_ins import call_candidate
    return call_candidate({address!r}, {name!r}, {given})
"""
# Pipe on which processes announce themselves, and the two pipes of each.
ANNOUNCEMENTS, REQUESTS, ANSWERS = "announcements", "requests", "answers"


def make_stand_in(seed: str, functions: Collection[str], address: str) -> str:
    """Return the text of the stand-in of a seed.

    Args:
        seed: Text of the seed, which is a part of the task.
        functions: Names of the functions that evolve and that the evaluator or the fixed text uses.
        address: Address of the `CallServer`.

    Raises:
        ProblemError: A part that evolves is not at the top level, or does not define a function.
    """
    pieces = regions.split_frame(seed) or ("", seed, "")
    defined: set[str] = set()
    texts = [
        _replace_block(text, functions, address, defined) if index % 2 else text for index, text in enumerate(pieces)
    ]
    if missing := [name for name in functions if name not in defined]:
        raise ProblemError(
            f"the seed does not define the function {missing[0]} at the top level of the part that evolves"
        )
    return "".join(texts)


def _replace_block(block: str, functions: Collection[str], address: str, defined: set[str]) -> str:
    try:
        body = tree_of(block).body
    except SyntaxError as problem:
        raise ProblemError(f"the part that evolves is not at the top level of the program: {problem.msg}") from None
    imports = [node for node in body if isinstance(node, ast.Import | ast.ImportFrom)]
    parts = [*map(ast.unparse, imports), HEADER]
    for node in body:
        if isinstance(node, ast.FunctionDef) and node.name in functions:
            defined.add(node.name)
            parts.append(_make_function(node, address))
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None and _is_literal(node.value):
            parts.append(ast.unparse(node))
    return "\n".join((*parts, ""))


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except ValueError:
        return False
    return True


def _make_function(node: ast.FunctionDef, address: str) -> str:
    """Return a function with the parameters of another one, which passes on the arguments that it gets."""
    arguments = node.args
    plain = [*arguments.posonlyargs, *arguments.args]
    without_default = len(plain) - len(arguments.defaults)
    shown = [f"{item.arg}{'' if index < without_default else '=_unset'}" for index, item in enumerate(plain)]
    if arguments.posonlyargs:
        shown.insert(len(arguments.posonlyargs), "/")
    if arguments.vararg:
        shown.append(f"*{arguments.vararg.arg}")
    elif arguments.kwonlyargs:
        shown.append("*")
    for item, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        shown.append(item.arg if default is None else f"{item.arg}=_unset")
    if arguments.kwarg:
        shown.append(f"**{arguments.kwarg.arg}")
    given = [
        _show_names(plain),
        arguments.vararg.arg if arguments.vararg else "()",
        _show_names(arguments.kwonlyargs),
        arguments.kwarg.arg if arguments.kwarg else "{}",
    ]
    return FUNCTION.format(name=node.name, parameters=", ".join(shown), address=address, given=", ".join(given))


def _show_names(items: Sequence[ast.arg]) -> str:
    return f"{{{', '.join(f'{item.arg!r}: {item.arg}' for item in items)}}}"


def call_candidate(
    address: str,
    name: str,
    plain: Mapping[str, Any],
    rest: Sequence[Any],
    by_name: Mapping[str, Any],
    more: Mapping[str, Any],
) -> Any:
    """Call a function of the candidate, for a stand-in.

    Args:
        address: Address of the `CallServer`.
        name: Name of the function.
        plain: Arguments that may be positional.
        rest: Further positional arguments.
        by_name: Arguments that may only be named.
        more: Further named arguments.

    Raises:
        CandidateError: As for a call of the guest.
    """
    args = tuple(plain.values())
    kwargs = {**more, **{key: value for key, value in by_name.items() if value is not UNSET}}
    unset = next((index for index, value in enumerate(args) if value is UNSET), None)
    if unset is not None:
        kwargs |= {key: value for key, value in [*plain.items()][unset:] if value is not UNSET}
        args = args[:unset]
    server = _servers.get(address)
    if server is not None and server.process_id == os.getpid():
        return server.call(name, (*args, *rest), kwargs)
    return _find_connection(address).call(name, (*args, *rest), kwargs)


class CallServer:
    """Answers the calls of stand-ins, also from processes that the evaluator starts.

    Attributes:
        address: Private folder of its pipes.
    """

    def __init__(self, guest: Guest) -> None:
        self._guest, self.process_id = guest, os.getpid()
        self.address = tempfile.mkdtemp(prefix="oragent-calls-")

    def __enter__(self) -> Self:
        _servers[self.address] = self
        path = os.path.join(self.address, ANNOUNCEMENTS)
        os.mkfifo(path, 0o600)
        # An own writing end keeps the pipe open while no process announces itself.
        self._announcements = open(os.open(path, os.O_RDWR), encoding="ascii")
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        _servers.pop(self.address, None)
        shutil.rmtree(self.address, ignore_errors=True)

    def call(
        self,
        name: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        files: tuple[Mapping[str, bytes], Sequence[str]] | None = None,
    ) -> Any:
        """Call a function of the candidate.

        Raises:
            ProblemError: An argument cannot be sent to another process.
            CandidateError: As for a call of the guest.
        """
        try:
            return self._guest.call_exactly(name, args, kwargs, files)
        except FrameError as problem:
            fault = ProblemError(f"the task passes {name} {problem}: the candidate needs the evaluator's own process")
            if self._guest.settle is not None:
                self._guest.settle(fault)
            raise fault from None
        except (CandidateError, KeyboardInterrupt):
            raise
        except BaseException:
            if self._guest.end_cause is None:
                # The evaluator's own limit of time interrupted the call, whose answer is still to come.
                CandidateError(f"{name} exceeded the evaluator's limit of time", Status.TIMEOUT)
            raise

    def _accept(self) -> None:
        for line in self._announcements:
            threading.Thread(target=self._serve, args=(line.strip(),), daemon=True).start()

    def _serve(self, name: str) -> None:
        folder = os.path.join(self.address, name)
        with (
            suppress(OSError),
            open(os.path.join(folder, REQUESTS), "rb") as reader,
            open(os.path.join(folder, ANSWERS), "wb") as writer,
        ):
            connection = Connection(reader, writer)
            while (request := connection.receive()) is not None:
                connection.send(self._answer(request))

    def _answer(self, request: Any) -> bytes:
        try:
            value = self.call(request["name"], request["args"], request["kwargs"])
            return wire_format.encode({"value": value}, ExactArrays())
        except Exception as problem:
            return wire_format.encode({"problem": f"{type(problem).__name__}: {problem}"})


class Connection:
    """One end of two pipes between a process of the evaluator and the scorer."""

    def __init__(self, reader: BinaryIO, writer: BinaryIO) -> None:
        self._reader, self._writer = reader, writer

    def send(self, frame: bytes) -> None:
        """Send a message."""
        self._writer.write(frame)
        self._writer.flush()

    def call(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a function of the candidate.

        Raises:
            RuntimeError: The call failed, or the scorer has ended.
        """
        functions: list[Any] = []
        self.send(wire_format.encode({"name": name, "args": args, "kwargs": kwargs}, ExactArrays(functions)))
        answer = self.receive()
        while answer is not None and "callback" in answer:
            self.send(serve_callback(answer["callback"], functions))
            answer = self.receive()
        if answer is None:
            raise RuntimeError("the scorer has ended")
        return read_callback_answer(answer)

    def call_back(self, number: int, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a function of the evaluator's process."""
        self.send(encode_callback(number, method, args, kwargs))
        return read_callback_answer(self.receive())

    def receive(self) -> Any:
        """Receive a message. Return None at the end."""
        head = self._reader.read(wire_format.HEAD.size)
        if len(head) < wire_format.HEAD.size:
            return None
        rest = self._reader.read(wire_format.frame_length(head) - len(head))
        return wire_format.decode_frame(head + rest, ExactArrays(call_back=self.call_back))


_servers: dict[str, CallServer] = {}
_connections: dict[tuple[str, int, int], Connection] = {}
_numbers = itertools.count()


def _find_connection(address: str) -> Connection:
    """Return the connection of this thread to a scorer."""
    key = address, os.getpid(), threading.get_ident()
    if key not in _connections:
        name = f"{os.getpid()}-{next(_numbers)}"
        folder = Path(address, name)
        folder.mkdir()
        for pipe in (REQUESTS, ANSWERS):
            os.mkfifo(folder / pipe, 0o600)
        with open(os.path.join(address, ANNOUNCEMENTS), "w", encoding="ascii") as announcements:
            announcements.write(f"{name}\n")
        # The scorer opens the pipes in the same order.
        writer = (folder / REQUESTS).open("wb")
        _connections[key] = Connection((folder / ANSWERS).open("rb"), writer)
    return _connections[key]
