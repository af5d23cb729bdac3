"""How near a program comes to the known lowest point, over several trials."""

import concurrent.futures
import importlib.util
import time
import traceback

import numpy as np
from openevolve.evaluation_result import EvaluationResult

LOWEST = (-1.704, 0.678, -1.519)


def run_with_timeout(function, timeout_seconds=5):
    with concurrent.futures.ThreadPoolExecutor(max_workers=1) as executor:
        return executor.submit(function).result(timeout=timeout_seconds)


def load(program_path):
    spec = importlib.util.spec_from_file_location("program", program_path)
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    return program


def trials(program_path, number):
    program = load(program_path)
    if not hasattr(program, "run_search"):
        raise AttributeError("the program has no run_search")
    values, distances = [], []
    for _ in range(number):
        x, y, value = run_with_timeout(program.run_search)
        if not np.isfinite([x, y, value]).all():
            raise ValueError("no finite numbers")
        values.append(float(value))
        distances.append(float(np.hypot(x - LOWEST[0], y - LOWEST[1])))
    return values, distances


def evaluate(program_path):
    begun = time.time()
    try:
        values, distances = trials(program_path, 5)
    except Exception as problem:
        print(traceback.format_exc())
        return EvaluationResult(
            metrics={"combined_score": 0.0, "error": str(problem)}, artifacts={"stderr": str(problem)}
        )
    value_score = 1 / (1 + abs(float(np.mean(values)) - LOWEST[2]))
    distance_score = 1 / (1 + float(np.mean(distances)))
    reliability = sum(value < LOWEST[2] + 0.1 for value in values) / len(values)
    metrics = {
        "value_score": value_score,
        "distance_score": distance_score,
        "reliability_score": reliability,
        "combined_score": 0.5 * value_score + 0.3 * distance_score + 0.2 * reliability,
    }
    print("took", time.time() - begun)
    return EvaluationResult(metrics=metrics, artifacts={"trials": str(values)})


def evaluate_stage1(program_path):
    try:
        values, _ = trials(program_path, 1)
        return {"runs_successfully": 1.0, "combined_score": 1 / (1 + abs(values[0] - LOWEST[2]))}
    except Exception as problem:
        return {"runs_successfully": 0.0, "combined_score": 0.0, "error": str(problem)}
