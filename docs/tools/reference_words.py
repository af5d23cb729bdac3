"""What the reference says that no code does: the contract around its parts, and what tables of a run hold."""

__all__ = ["COLUMNS", "CONTRACT", "TABLES"]

CONTRACT = """\
# The eval.py contract

This page defines what an evaluator reads and prints, so that you can write one in any language. [Adding a
problem](../adding-a-problem.md) describes `problem.yaml`.

An evaluator is a program that scores one heuristic. It must take two options and print one block. By hand:
`python problems/tsp_aco/eval.py --root_dir=. --mode=val --problem_size=50 --candidate=mine.py`. A search calls it in the sandbox, as
`oragent eval tsp_aco --candidate mine.py` does.

## What it takes

{options}

A search passes these options:

| for | options |
|---|---|
| every evaluation | `--root_dir` and `--file_output_prefix` |
| `problem_size=200` | also `--problem_size=200` |
| `cascade=0.5` | first `--mode=train`; then in full, if the candidate beats half of the elites there |
| `race=0.9` | `--race` with its terms, if the evaluator has this option |
| a named set `x` | `--mode=x`, and `--data` with its path, if `problem.yaml` names one |
| a probe of `or_agent` | `--mode=train`, its smallest size, and `--instances=3` if the evaluator has this option |

The other options belong to the harness; other evaluators get only those that their `--help` lists. An evaluator may be copied and run
elsewhere, with the candidate beside it as `heuristic.py`, so it must find data from `--root_dir`.

## What it prints

It may print anything. Last, on lines of their own, it prints:

```
{example}
```

- Metrics are a dict from a figure to its value, or from a test to such a dict.
- Features are the cell of the archive: a tuple of whole numbers, with bins as `problem.yaml` declares them. `None` means a
  plain ranking.
- The score is a finite number in natural units.

Values are Python literals. On failure the evaluator prints this and exits with code 1:

```
{failure}
```

The terms of a race are JSON on one line: `direction`, `bar` (the values of an elite on each instance, by size; or null), `probes` and
`twins`. An evaluation that lost a race prints a failure with the status `screened` and the key `metrics`:
`{{"raced": {{"done": 12, "planned": 192, "estimate": 7.31}}}}`. One that completes a race adds `by_instance` to its metrics, in the form
of a bar, and with `probes` a hash `behaviour` of the first answers of each size. The harness does this in `each`; other evaluators
must do it as `oragent._base.racing`.

## How an evaluation ends

{statuses}

A failed candidate has no score. `timeout_s` of `problem.yaml` counts the CPU seconds of all processes of an evaluation. An evaluation
that uses no CPU time for 30 seconds is ended. `memory_mb` limits the private memory of a process beyond what it starts with.

With the harness, a failure is final. The first `CandidateError` of a call, of a check such as `harness.matrix`, or of the evaluator
decides, even if native code, a thread or an `except` of the evaluator drops the exception. It is printed at once, every later call
raises it again, and the process ends at most 5 seconds later. A call that returns the number NaN fails too. An exception of the
evaluator that a callback or a thread drops ends the evaluation as `crashed`. Calls from several threads are answered one after the
other; calls from a child process are refused.

## Hooks: watching an evaluator at work

An evaluator may have hooks: points at which it reports what happens, as plain data.

```python
from oragent.harness import hook, run, watching


def evaluate(arguments, heuristics):
    ...
    for step in range(steps):
        hook("step", step=step, queue=queue, load=load)  # numbers, texts, lists, dicts, arrays
    found = solve(..., watch=watching("iteration", size=size))  # for a solver to call; None without an observer


run(evaluate, function="heuristics", sizes=SIZES, hooks=("step", "iteration"))
```

`problem.yaml` describes them for models:

```yaml
hooks:
  step: "after each step: step (from 0), queue (jobs that wait), load (array: work on each machine)"
```

`python eval.py --mode=train --observer=mine.py` runs an observer: a file that defines `observe(hook, data)`, which is called at each
hook with a dict, and at the end with `"end"` and an empty dict ([example](../driving.md#watching)). What it prints is at the end of
the log. `or_agent` uses observers by its action INSTRUMENT. These rules hold:

- **Never where a score counts.** `--observer` needs `--mode=train`, and a search uses it only for probes.
- **One direction.** Observers are untrusted and run as candidates do. They receive copies, and their answers are discarded. An
  observer that raises, hangs (60 s per call, 30 CPU seconds in all) or dies ends the observation and nothing else;
  `oragent check` tests that the score stays the same.
- **Plain data only**: numbers, texts, lists, dicts and arrays of numbers. Report only what a candidate could find out on these
  instances anyway: never a generator, a seed, an answer, or anything of other modes.
- **Not during `heuristic.reveal`.** Walk through the checked solution afterwards, as `bpp_online` does.
- **An evaluator without hooks** refuses `--observer`. The driving problems have a hook each second, the colonies each iteration,
  guided local search at six points, online packing each item.
"""

TABLES = {
    "meta": "A note on the run.",
    "rounds": "A committed round.",
    "candidates": "A candidate of a committed round.",
    "evaluations": "A program that was evaluated; written when the evaluation ends. Equal programs have one row.",
    "replies": "A model's reply; written before it is used.",
    "times": "First evaluation of a program in the replayed run. A replay takes over its times, and whether it ran out of time.",
    "arrays": "An array that a probe kept; programs load it by its digest.",
    "notes": "A note of a round for later rounds and for reports.",
    "journal": "A finding of a round under way, in the order of time. Prompts show it at once (`strategy.live`).",
    "moments": "State from which a prompt was built. A resumed or replayed run builds the same prompt.",
}
COLUMNS = {
    "meta": {"key": "`version`, `end` (why the run ended), `offers` (of the evaluator)", "value": "the note"},
    "rounds": {
        "round": "its number; the seed heuristic is round 0",
        "spent": "JSON: evaluations, model_calls, tokens, money, seconds, of the whole run so far",
        "elapsed_s": "the run's own seconds at its commitment",
    },
    "candidates": {
        "round": "its round",
        "number": "its number in that round",
        "fingerprint": "hash of its canonical form: the row of `evaluations`",
        "source": "its text",
        "parents": "JSON list of ids, `round.number` each",
        "origin": "its operator: a kind of variation, or a model's role",
        "island": "its island; -1: none, because its strategy keeps it out of the archive",
        "call": "number of the call whose reply contained it",
        "branch": "branch of its round",
        "placed": "effect on the archive: NEW, IMPROVED or NOT_ADDED; empty without a score",
    },
    "evaluations": {
        "fingerprint": "hash of the program's canonical form",
        "status": "how it ended: see [the contract](contract.md)",
        "score": "in the problem's natural units; null without one",
        "features": "JSON: the cell of the archive",
        "metrics": "JSON: metrics that the evaluator printed",
        "message": "why there is no score",
        "traceback": "where the candidate failed",
        "log": "standard error of the evaluator, first and last part",
        "output": "what it printed before its block, first and last part",
        "end": "how its process ended: exited, signalled, deadline, memory, lost",
        "queued_s": "time waiting for a worker",
        "wall_s": "duration by the clock",
        "cpu_s": "CPU time of all its processes",
        "peak_mb": "memory of its largest process",
        "elapsed_s": "the run's own seconds when it ended",
    },
    "replies": {
        "key": "`round.branch` and the call's number",
        "prompt_hash": "hash of the prompt, so that a reply is used only for its own prompt",
        "role": "role of the call",
        "prompt": "JSON: the messages",
        "text": "text of the reply",
        "tool_calls": "JSON: tool calls of the reply",
        "model": "name of the model",
        "tokens_in": "tokens of the prompt",
        "tokens_out": "tokens of the reply",
        "tokens_cached": "tokens of the prompt that the server had cached",
        "money": "US dollars; null if the price is unknown",
        "seconds": "duration, with retries",
        "retries": "failed attempts before it",
    },
    "times": {
        "fingerprint": "hash of the program's canonical form",
        "status": "how the first evaluation ended",
        "score": "its score",
        "features": "JSON: its cell",
        "metrics": "JSON: its metrics",
        "message": "why it failed, if it did",
    },
    "arrays": {
        "digest": "digest of type, shape and content",
        "dtype": "its type as numpy writes it",
        "shape": "JSON: number of elements along each axis",
        "content": "its bytes in C order, compressed by zlib, in base 64",
    },
    "notes": {
        "round": "its round",
        "number": "its number in that round",
        "kind": "its kind, such as an idea, a lesson, a report",
        "text": "JSON or prose",
    },
    "journal": {
        "number": "number in the order of time, from 0",
        "place": "name of the finding, the same after a resume",
        "round": "its round",
        "kind": "`program`, `note`, or `rejected` where a program failed its check",
        "text": "JSON: the program with its evaluation, or the note; the fingerprint of a rejected program",
    },
    "moments": {
        "call": "place of the call in its round",
        "size": "rows of `journal` that the prompt shows",
        "evaluations": "evaluations that were paid for",
        "model_calls": "model calls that were paid for",
    },
}
