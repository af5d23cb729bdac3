"""Turn a problem in words into a solved, checked and explained model."""
