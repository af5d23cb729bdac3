"""Starts threads without end."""
# expect: error memory timeout
# seconds: 1

import threading
import time


def heuristics(matrix):
    while True:
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
