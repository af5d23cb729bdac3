"""The border: start an evaluation, bound it, end it, read its result."""

from oragent.sandbox.limits import Limits
from oragent.sandbox.runner import Evaluation, Job, Sandbox, evaluate

__all__ = ["Evaluation", "Job", "Limits", "Sandbox", "evaluate"]
