"""Overwrites, creates and deletes files of the project."""
# expect: ok
# holds: untouched

import os


def heuristics(matrix):
    through = 0
    for action in (
        lambda: os.open(os.path.join(ROOT, "open", "made.txt"), os.O_CREAT | os.O_WRONLY),
        lambda: os.unlink(os.path.join(ROOT, "open", "delete-me.txt")),
        lambda: os.mkdir(os.path.join(ROOT, "open", "folder")),
        lambda: os.symlink("/etc/passwd", os.path.join(ROOT, "open", "link")),
        lambda: os.chmod(os.path.join(ROOT, "open", "keep.txt"), 0o600),
    ):
        try:
            action()
            through += 1
        except OSError:
            pass
    if through:
        raise RuntimeError("got through: files changed")
    return -matrix
