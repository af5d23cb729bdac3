"""Reads address 0."""
# expect: crashed

import ctypes


def heuristics(matrix):
    ctypes.string_at(0)
