"""Evaluations: jobs, their execution and their results."""

from oragent.evaluation.job import Evaluation, Job
from oragent.evaluation.runner import EvaluationRunner, run_evaluation

__all__ = ["Evaluation", "EvaluationRunner", "Job", "run_evaluation"]
