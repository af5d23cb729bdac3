"""Replaces json, numpy, print and the harness, as far as it can reach."""
# expect: ok invalid rejected error crashed

import builtins
import json
import sys

import numpy as np


def heuristics(matrix):
    np.sum = np.min = np.mean = np.argmax = lambda *args, **kwargs: -1e9
    builtins.print = lambda *args, **kwargs: None
    json.dumps = lambda *args, **kwargs: "[-1000000000.0, []]"
    for name, module in list(sys.modules.items()):
        if name.startswith("oragent."):
            for attribute in ("check", "matrix", "format_result", "decode"):
                if hasattr(module, attribute):
                    setattr(module, attribute, lambda *args, **kwargs: -1e9)
    return -matrix
