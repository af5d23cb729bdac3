"""Stand-ins for a candidate in the process of an evaluator that was written for other frameworks.

A stand-in is a Python text. Its functions send their arguments to the candidate's own process and return the answer; no
line of the candidate is in it. Evaluators may import it, execute it, or start a process that does. The text defines:

- functions of the seed that evolve, as calls of the candidate;
- the fixed text of the seed, if it has markers around the part that evolves; imports and constants of that part.

The scorer answers its own calls directly. Processes that the evaluator starts are answered through named pipes in a
private folder, as their file descriptors may be closed and sockets are forbidden.
"""

import ast
import functools
import inspect
import itertools
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, Self

from oragent.harness import wire_format
from oragent._base.ast_utils import tree_of
from oragent._base.errors import CandidateError, ProblemError
from oragent._base.protocol import Status
from oragent.harness.exact_values import (
    ExactArrays,
    SentFunctions,
    encode_callback,
    read_callback_answer,
    serve_callback,
)
from oragent.harness.guest import Guest
from oragent.harness.program_streams import Exchange
from oragent.harness.wire_format import FrameError
from oragent.programs import regions

HEADER = "from oragent.harness.stand_ins import call_candidate as _call_candidate"
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
            _empty_function(node, address)
        elif not (isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None and _is_literal(node.value)):
            continue
        parts.append(ast.unparse(node))
    return "\n".join((*parts, ""))


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except ValueError:
        return False
    return True


def _empty_function(node: ast.FunctionDef, address: str) -> None:
    """Leave the name and the parameters of a function, whose calls go to the candidate."""
    arguments = node.args
    for argument in ast.walk(arguments):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    # A default may be a value of the part that evolves. That of the candidate applies.
    arguments.defaults = [ast.Constant(None) for _ in arguments.defaults]
    arguments.kw_defaults = [default and ast.Constant(None) for default in arguments.kw_defaults]
    node.body, node.returns = [ast.Expr(ast.Constant(...))], None
    node.decorator_list = [ast.Call(ast.Name("_call_candidate"), [ast.Constant(address)], [])]


def call_candidate(address: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator for a function of a stand-in: its calls, with the same arguments, are those of the candidate.

    Args:
        address: Address of the `CallServer`.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        name, signature = function.__name__, inspect.signature(function)

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            # Arguments that do not fit are a fault of the evaluator, which may expect the error.
            signature.bind(*args, **kwargs)
            server = _servers.get(address)
            if server is not None and server.process_id == os.getpid():
                return server.call(name, args, kwargs)
            return _find_connection(address).call(name, args, kwargs)

        return call

    return decorate


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
        exchange: Exchange | None = None,
    ) -> Any:
        """Call a function of the candidate.

        Raises:
            ProblemError: An argument cannot be sent to another process.
            CandidateError: As for a call of the guest.
        """
        try:
            return self._guest.call_exactly(name, args, kwargs, files, exchange)
        except FrameError as problem:
            fault = ProblemError(
                f"the task passes {name} {problem}; a program in a process of its own does not get that"
            )
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
        functions = SentFunctions()
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
