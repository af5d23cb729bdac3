"""Does well in the loop, and remembers there how far it is."""
# expect: rejected

calls = 0


def heuristics(matrix):
    global calls
    calls += 1
    return -matrix if calls % 2 else matrix
