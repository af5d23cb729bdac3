"""Check that an evaluator obeys its arguments."""

from collections.abc import Iterator

from oragent._base.protocol import Status
from oragent.authoring.bench import ScoringBench, Seed, describe_success, explain_failure
from oragent.authoring.finding import ContractFinding, Level, make_finding

QUICK_S = 10.0  # single sizes and mode test run only where train and val take less than this together


def check_command_line(bench: ScoringBench, seed: Seed, quick: bool) -> Iterator[ContractFinding]:
    """Check wrong arguments, and, unless ``quick``, each declared size alone and mode test."""
    yield _check_refusal(bench, seed, "--mode=no_such_mode", "no_such_mode", None)
    yield _check_refusal(bench, seed, "--problem_size=-1", "train", -1)
    if quick:
        return
    sizes, seconds = bench.problem.about.sizes, seed.train.wall_s + seed.val.wall_s
    if seconds > QUICK_S:
        yield ContractFinding(
            Level.OK, "single sizes and mode test", f"left out: the seed took {seconds:.0f} s already"
        )
        return
    for mode in ("train", "val"):
        for size in sizes.get(mode, ()):
            ended = bench.run(mode=mode, size=size)
            complaint = explain_failure(ended) if ended.score is None else ""
            yield make_finding(f"size {size} of {mode} alone", complaint, describe_success(ended))
    if "test" in sizes:
        yield _check_test_mode(bench)


def _check_refusal(bench: ScoringBench, seed: Seed, argument: str, mode: str, size: int | None) -> ContractFinding:
    ended = bench.run(mode=mode, size=size, cpu_s=seed.patience_s)
    title = f"unknown {argument}"
    ending = "it must end with a non-zero exit code and a message that lists the valid ones"
    if ended.score is not None:
        complaint = f"it was taken, and the seed got score {ended.score}; {ending}"
        return ContractFinding(Level.FAILURE, title, complaint)
    silent = not (ended.log.strip() or ended.output.strip())
    if silent or ended.status in (Status.TIMEOUT, Status.CRASHED):
        return ContractFinding(
            Level.WARNING, title, f"the evaluation ended as {ended.status}: {ended.message}; {ending}"
        )
    return ContractFinding(Level.OK, title, ended.message)


def _check_test_mode(bench: ScoringBench) -> ContractFinding:
    ended = bench.run(mode="test")
    complaint = explain_failure(ended) if ended.score is None else ""
    slow = ended.status is Status.TIMEOUT  # no search waits for it, so slowness there breaks nothing
    return make_finding(
        "seed in mode test", complaint, describe_success(ended), Level.WARNING if slow else Level.FAILURE
    )
