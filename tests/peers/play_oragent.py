"""Score programs in a run of oragent whose model replies with them in order.

python play_oragent.py PROGRAMS.json RESULTS.jsonl FIRST LIMIT_S
"""

import json
import sys
import tempfile
from pathlib import Path

import oragent


def main() -> None:
    programs, results = json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2])
    replies = iter(programs)
    order: dict[str, int] = {}

    def reply(messages: list[dict[str, str]]) -> str:
        # a reply without a program is sent back once: the same text again
        if "cannot be used" in messages[-1]["content"]:
            return programs[len(order) - 1]
        text = next(replies)
        order.setdefault(f"{len(order)}", len(order))
        return f"```python\n{text}\n```" if "def " in text else text

    run = oragent.run(
        "tsp_constructive", model=reply, strategy={"name": "random", "window": 1}, outputs=tempfile.mkdtemp(),
        limits={"timeout_s": int(sys.argv[4])}, budget={"evaluations": 200, "model_calls": 70}, problem_size=50, workers=1,
        settings="strategy.patience=70",
    )  # fmt: skip
    scores: dict[str, float | None] = {}
    for record in run.candidates:
        scores[record.source.strip()] = record.score
    with results.open("a") as file:
        for number, text in enumerate(programs):
            file.write(json.dumps([number, scores.get(text.strip())]) + "\n")


if __name__ == "__main__":
    main()
