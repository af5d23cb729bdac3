"""Values of optimisation models: indexed and flat models, arrays, features, solutions."""
