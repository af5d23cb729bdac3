"""What programs of agents import, so that it is there when they begin: a script that does nothing else."""

import highspy  # noqa: F401
import numpy  # noqa: F401
import pulp  # noqa: F401
