"""``python -m oragent``."""

from oragent.cli import main

if __name__ == "__main__":
    main()
