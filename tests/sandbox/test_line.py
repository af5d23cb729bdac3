"""A command can be given one connected socket, and finds nothing else open."""

import socket

from oragent.sandbox.messages import PYTHON, Command
from oragent.sandbox.sandbox import Sandbox

SCRIPT = """
import os, socket
number = int(os.environ["ORAGENT_DEVICE_LINE"])
wire = socket.socket(fileno=number)
wire.sendall(b"asked")
print(wire.recv(8).decode(), sorted(set(os.listdir("/proc/self/fd")) - {"0", "1", "2"}) if os.path.isdir("/proc/self/fd") else "")
"""


def test_a_program_that_is_started_finds_its_line_and_the_next_one_has_none() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs, Sandbox() as run:
        ours.sendall(b"answered")
        ended = run(Command((PYTHON, "a.py"), {"a.py": SCRIPT}), device_line=theirs.fileno())
        assert ended.code == 0, ended.stderr
        assert ended.stdout.startswith("answered")
        assert ours.recv(8) == b"asked"
        after = run(Command((PYTHON, "a.py"), {"a.py": "import os; print(os.environ.get('ORAGENT_DEVICE_LINE'))"}))
        assert after.stdout == "None\n"
        theirs.close()
        assert ours.recv(1) == b""  # nobody of the server's keeps it open
