"""Files of models and solutions: JSON, LP, MPS, and solution files of solvers."""
