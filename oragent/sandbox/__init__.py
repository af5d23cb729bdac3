"""The border: whatever runs, start it, bound it, end it, and say how it ended."""

from oragent.sandbox.border import Sandbox
from oragent.sandbox.lifecycle import End
from oragent.sandbox.messages import FOLDER, PYTHON, Command, Ended, Limits

__all__ = ["FOLDER", "PYTHON", "Command", "End", "Ended", "Limits", "Sandbox"]
