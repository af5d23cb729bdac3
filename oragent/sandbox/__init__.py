"""The border: whatever runs, start it, bound it, end it, and say how it ended; ``border.Sandbox`` does.

What is imported here a server imports too, and every process that it forks has to carry: values, and no machinery.
"""

from oragent.sandbox.lifecycle import End
from oragent.sandbox.messages import FOLDER, PYTHON, Beside, Command, Ended, Limits

__all__ = ["FOLDER", "PYTHON", "Beside", "Command", "End", "Ended", "Limits"]
