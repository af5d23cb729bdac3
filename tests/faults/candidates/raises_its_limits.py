"""Lifts its memory limit, then takes 6 GiB."""
# expect: error memory

import resource

resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def heuristics(matrix):
    return bytearray(6 << 30)
