"""Reads the system's list of users."""
# expect: ok
# holds: unread


def heuristics(matrix):
    try:
        with open("/etc/passwd") as file:
            file.read()
    except OSError:
        return -matrix
    raise RuntimeError("got through: /etc/passwd")
