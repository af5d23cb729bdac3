"""What the reference says that no code does: the contract around its parts, and what tables of a run hold."""

__all__ = ["COLUMNS", "CONTRACT", "TABLES"]

CONTRACT = """\
# The eval.py contract

An evaluator is a program that scores one heuristic. Any program in any language that takes two options and prints one block
is one; a search knows nothing else of a problem. `python problems/tsp_aco/eval.py --root_dir=. --mode=val --problem_size=50
--candidate=mine.py` calls one by hand, `oragent eval tsp_aco --candidate mine.py` calls it as a search would, in the sandbox.

## What it takes

{options}

A search calls it with `--root_dir` and `--file_output_prefix` alone; a run with `problem_size=200` also with
`--problem_size=200`; one with `cascade=0.5` first with `--mode=train`, and in full what is better there than half of the
elites; one with `race=0.9` with `--race` and its terms, where the evaluator offers that; and what only
measures (a probe of `or_agent`) with `--mode=train`, its smallest size, and `--instances=3`, likewise. The other options are those of the harness, and an evaluator that does not use it needs none of them; what it takes
it is asked for. It may be copied elsewhere and run from there, beside the candidate as `heuristic.py`: it finds data from
`--root_dir` and never from its own path.

## What it prints

Whatever it likes, and last, on lines of their own:

```
{example}
```

- Metrics are a dict for people and models to read: of figure to value, or of test to such a dict.
- Features are the archive's cell, a tuple of whole numbers as `problem.yaml` declares their bins; or `None` for a plain ranking.
- The score is a finite number in natural units; `problem.yaml` says whether to `minimize` or `maximize` it.

Values are Python literals; nothing of a block is ever evaluated. On failure it prints this, and exits with code 1:

```
{failure}
```

An evaluation that was asked to race and ended early prints the same with the status `screened` and one key more, `metrics`:
`{{"raced": {{"done": 12, "planned": 192, "estimate": 7.31}}}}`. The estimate is nobody's score. The terms are JSON on one line:
`direction`, `bar` (what an elite has on each instance, by size; or null), `probes` and `twins`. One that goes to its end adds
`by_instance` to its metrics, in the form of a bar, and with `probes` a hash `behaviour` of the first answers of each size. A
search may play a race again on these figures, so an evaluator of your own must end as `oragent.racing` does; with the harness,
`each` does it.

## How an evaluation ends

{statuses}

A failed candidate has no score at all, never 0. Time is CPU time: `timeout_s` of `problem.yaml` counts the CPU seconds of all
processes of an evaluation, so that a busy machine changes no score; the clock on the wall ends only what has used none for 30
seconds. `memory_mb` is private memory that a process takes beyond what it begins with.

## Hooks: watching an evaluator at work

A score says how good a heuristic is, and nothing of how it fails. So an evaluator may have hooks: places where it says what
happens, in plain data, to whoever watches.

```python
from oragent.harness import hook, run, watching


def evaluate(arguments, heuristics):
    ...
    for step in range(steps):
        hook("step", step=step, queue=queue, load=load)  # numbers, texts, lists, dicts, arrays
    found = solve(..., watch=watching("iteration", size=size))  # what a solver calls; None where nobody watches


run(evaluate, function="heuristics", sizes=SIZES, hooks=("step", "iteration"))
```

and `problem.yaml` tells models what there is to see:

```yaml
hooks:
  step: "after each step: step (from 0), queue (jobs that wait), load (array: work on each machine)"
```

`python eval.py --mode=train --observer=mine.py` watches. The file defines `observe(hook, data)`, which is called at each hook
with a dict, and once more, with `"end"` and an empty dict, when all is over; what it prints stands at the end of the log:

```python
worst = {{}}


def observe(hook, data):
    if hook == "second":
        for one in data["vehicles"]:
            if one["acceleration"] is not None:
                worst[one["veh_id"]] = min(worst.get(one["veh_id"], 0.0), one["acceleration"])
    if hook == "end":
        print(sorted(worst.items(), key=lambda pair: pair[1])[:5])
```

`or_agent` does that by its action INSTRUMENT. What holds:

- **Off where a score counts.** `--observer` goes with `--mode=train` alone, and a search gives it to probes only: they cost no
  evaluation and never enter the archive. Everywhere else `hook` returns at once, and `watching` gives None.
- **One way.** Observers are strangers' code, so they run as candidates do: in a guest of their own, forked before data is read,
  without network, writable files, environment or keys. They get copies across the wire, and what they answer is thrown away.
  One that raises, hangs (60 s a call, 30 CPU seconds in all) or dies ends the watching and nothing else; the score stays the
  same to the last bit, which `oragent check` tries.
- **Plain data only.** What is no number, text, list, dict or array of numbers is refused. Tell what a candidate could find out
  on these instances anyway: never a generator, a seed, an answer, or anything of other modes.
- A loop that runs beside the candidate (`guest.run`) has no hooks, as the candidate could forge what they tell: go through its
  checked solution afterwards, as `bpp_online` does.
- An evaluator without hooks says so: it refuses `--observer`, `oragent check` says that nobody can watch it, and `or_agent` is
  not offered the action. The driving problems have a hook each second, the colonies each iteration, guided local search at six
  moments, online packing each item.

## problem.yaml

[Adding a problem](../adding-a-problem.md) walks through it; `oragent new NAME` writes one with comments, and `oragent check
NAME` says in plain words what does not fit.
"""

TABLES = {
    "meta": "A note on the run.",
    "rounds": "A committed round.",
    "candidates": "A candidate of a committed round.",
    "evaluations": "A program that was evaluated, written when that ends: equal programs have one row.",
    "replies": "A model's reply, written before anyone reads it.",
    "times": "What the first evaluation of a program told of its time: a replay takes it over, as prompts quote it.",
    "notes": "What a round wrote down for later ones and for reports.",
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
        "number": "its place in that round",
        "fingerprint": "hash of its canonical form: the row of `evaluations`",
        "source": "its text",
        "parents": "JSON list of ids, `round.number` each",
        "origin": "what made it: an operator of breeding, or a model's role",
        "island": "where it belongs; -1: nowhere, as its strategy withholds it from the archive",
        "call": "the reply that it came from: number of the call",
        "branch": "and the branch of its round",
        "placed": "what the archive made of it: NEW, IMPROVED or NOT_ADDED; empty without a score",
    },
    "evaluations": {
        "fingerprint": "hash of the program's canonical form",
        "status": "how it ended: see [the contract](contract.md)",
        "score": "in the problem's natural units; null without one",
        "features": "JSON: the cell of the archive",
        "metrics": "JSON: what the evaluator told",
        "message": "why there is no score",
        "traceback": "where the candidate failed",
        "log": "what the evaluator wrote to its standard error, head and tail",
        "output": "what it printed before its block, head and tail",
        "end": "how its process ended: exited, signalled, deadline, memory, lost",
        "queued_s": "waited for a worker",
        "wall_s": "took by the clock",
        "cpu_s": "took of the processor, all its processes together",
        "peak_mb": "held by its largest process",
        "elapsed_s": "the run's own seconds when it ended",
    },
    "replies": {
        "key": "`round.branch` and the call's number",
        "prompt_hash": "hash of the prompt, so that an answer is taken for its own question alone",
        "role": "the part that the model played",
        "prompt": "JSON: the messages",
        "text": "what it said",
        "tool_calls": "JSON: what it called",
        "model": "who answered",
        "tokens_in": "of the prompt",
        "tokens_out": "of the reply",
        "tokens_cached": "of the prompt, as far as the server had read them before",
        "money": "US dollars; null where the price is unknown",
        "seconds": "took, retries included",
        "retries": "attempts that failed before it",
    },
    "times": {
        "fingerprint": "hash of the program's canonical form",
        "status": "how the first evaluation ended",
        "metrics": "JSON: its metrics of time",
        "message": "why it failed, if it did",
    },
    "notes": {
        "round": "its round",
        "number": "its place in that round",
        "kind": "by which it is found again: an idea, a lesson, a report",
        "text": "JSON or prose",
    },
}
