"""Raises an exception that ends the process of whoever prints it."""
# expect: error


class Sly(Exception):
    def __str__(self):
        raise SystemExit(0)


def heuristics(matrix):
    raise Sly
