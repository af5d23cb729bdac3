"""The smallest distance between two points, over several counts."""

import argparse

import numpy as np
from helper import COUNTS
from shinka.core import run_shinka_eval


def kwargs_of(run):
    return {"count": COUNTS[run]}


def is_valid(result):
    points, gap = result
    if not ((points >= 0) & (points <= 1)).all() or not np.isfinite(gap):
        return False, "points outside of the unit square"
    return True, None


def summed_up(results):
    gaps = [gap for _, gap in results]
    return {"combined_score": float(np.mean(gaps)), "public": {"smallest": min(gaps)}, "private": {"gaps": gaps}}


def main(program_path, results_dir):
    metrics, correct, problem = run_shinka_eval(
        program_path=program_path,
        results_dir=results_dir,
        experiment_fn_name="run_experiment",
        num_runs=len(COUNTS),
        get_experiment_kwargs=kwargs_of,
        validate_fn=is_valid,
        aggregate_metrics_fn=summed_up,
    )
    print(metrics if correct else problem)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--program_path", default="initial.py")
    parser.add_argument("--results_dir", default="results")
    main(**vars(parser.parse_args()))
