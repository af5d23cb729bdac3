"""Reads what an evaluator has no need of: passwords, the homes of users, other candidates."""
# evaluator: plain.py
# expect: invalid
# holds: unread

import glob

PLACES = ["/etc/shadow", "/etc/gshadow", "/etc/machine-id", "/var/log/dpkg.log", f"{ROOT}/outputs/best.py"]


def heuristics(matrix):
    got = []
    for place in [*PLACES, *glob.glob("/root/.*"), *glob.glob("/home/*/.*"), *glob.glob("/proc/[0-9]*/environ")[3:]]:
        try:
            with open(place) as file:
                file.read(1)
            got.append(place)
        except OSError:
            continue
    if got:
        raise RuntimeError(f"got through: {got}")
