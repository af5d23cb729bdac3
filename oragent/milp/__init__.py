"""An optimisation model as data: read, solved, explained."""
