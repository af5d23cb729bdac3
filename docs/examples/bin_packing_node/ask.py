"""Answer calls of the candidate's function: one line of JSON in, one out. A helper of score.js."""

import json
import sys

from heuristic import priority

answers = sys.stdout
sys.stdout = sys.stderr  # what the candidate prints is no answer
for line in sys.stdin:
    print(json.dumps([float(value) for value in priority(*json.loads(line))]), file=answers, flush=True)
