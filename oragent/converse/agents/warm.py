"""What programs of agents import, so that it is there when they begin: a script that does nothing else."""

import highspy
import numpy
import pulp

__all__ = ["highspy", "numpy", "pulp"]
