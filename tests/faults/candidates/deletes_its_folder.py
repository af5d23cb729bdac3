"""Deletes the folder in which it is evaluated."""
# expect: ok timeout
# holds: untouched

import os
import shutil

FOLDER = os.getcwd()


def heuristics(matrix):
    shutil.rmtree(FOLDER, ignore_errors=True)
    return -matrix
