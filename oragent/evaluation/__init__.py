"""Evaluations: what is to be scored, how it ended, and what that means."""

from oragent.evaluation.job import Evaluation, Job
from oragent.evaluation.runner import Runner, evaluate

__all__ = ["Evaluation", "Job", "Runner", "evaluate"]
