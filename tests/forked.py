"""The command line in forks of one process that has imported it: real processes, at a tenth of the price of new ones.

What a person meets is a process with arguments, an environment, a folder and two streams, and so is this. Only what
Python does before ``main`` was done once; tests of signals, terminals and beginnings start processes of their own.
"""

import array
import atexit
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import IO

__all__ = ["command"]

ROOT = Path(__file__).parents[1]
PATIENCE_S = 120.0
WORDS = 1 << 20  # bytes of a request at most
# What reads the environment when it is imported finds what all tests share; threads would not survive a fork.
FIRST = {"COLUMNS": "120", "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}


def command(words: list[str], cwd: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run ``oragent`` with these words, in this folder and environment.

    Raises:
        subprocess.TimeoutExpired: if it has not ended after two minutes; it is killed.
    """
    if sys.platform != "linux":  # where local sockets keep no messages apart
        new = [sys.executable, "-m", "oragent", *words]
        return subprocess.run(new, cwd=cwd, env=environment, capture_output=True, text=True, timeout=PATIENCE_S)
    server = _server()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        request = json.dumps([words, str(cwd), environment]).encode()
        streams = array.array("i", [out.fileno(), err.fileno()])
        server.sendmsg([request], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, streams)])
        pid = int(server.recv(64))
        try:
            code = int(server.recv(64))
        except TimeoutError:
            os.kill(pid, signal.SIGKILL)
            server.recv(64)
            raise subprocess.TimeoutExpired(words, PATIENCE_S) from None
        return subprocess.CompletedProcess(words, code, _read(out), _read(err))


def _read(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()


@cache
def _server() -> socket.socket:
    """The process that forks: one for all tests of this process, ended with it."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")}
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.forked", str(theirs.fileno())],
        cwd=ROOT, env=kept | FIRST, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()],
    )  # fmt: skip
    theirs.close()
    ours.settimeout(PATIENCE_S)

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours


def _serve(asked: socket.socket) -> None:
    """Fork for each request; return in the fork, ready to begin."""
    while True:
        request, streams, _, _ = socket.recv_fds(asked, WORDS, 2)
        if not request:
            os._exit(0)
        pid = os.fork()
        if not pid:
            asked.close()
            _become(*json.loads(request), streams)
            return
        for stream in streams:
            os.close(stream)
        asked.send(b"%d" % pid)
        asked.send(b"%d" % os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


def _become(words: list[str], cwd: str, environment: dict[str, str], streams: list[int]) -> None:
    for number, stream in enumerate(streams, 1):
        os.dup2(stream, number)
        os.close(stream)
    os.environ.clear()
    os.environ |= environment
    os.chdir(cwd)
    sys.path[0] = cwd
    sys.argv = ["oragent", *words]


if __name__ == "__main__":
    import gc

    # What any command imports, and what a run imports at its end.
    import oragent.cli.app
    import oragent.report.live.offline  # noqa: F401
    from oragent.__main__ import main

    gc.freeze()
    _serve(socket.socket(fileno=int(sys.argv[1])))
    main()
