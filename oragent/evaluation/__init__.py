"""Evaluations: what is to be scored, how it ended, and what that means."""

from oragent.evaluation.job import Evaluation, Job
from oragent.evaluation.runner import EvaluationRunner, evaluate

__all__ = ["Evaluation", "EvaluationRunner", "Job", "evaluate"]
