"""Evaluations: what is to be scored, how it ended, and what that means."""

from oragent.evaluation.runner import Evaluation, Job, Sandbox, evaluate

__all__ = ["Evaluation", "Job", "Sandbox", "evaluate"]
