"""What this machine isolates, as data for the live page."""

import json
import subprocess
import sys

from oragent.sandbox.isolation.mechanisms import Guarantee

SCRIPT = """
import json, threading
from oragent.sandbox.isolation.probe import describe_isolation
first = describe_isolation()
thread = threading.Thread(target=threading.Event().wait, daemon=True)
thread.start()
print(json.dumps([first, describe_isolation()]))
"""


def test_each_guarantee_is_held_or_missing_and_several_threads_are_not_forked() -> None:
    ended = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    found, with_threads = json.loads(ended.stdout)
    assert sorted(found["held"] + found["missing"]) == sorted(map(str, Guarantee))
    assert with_threads is None
