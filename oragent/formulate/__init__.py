"""From a problem in words to a solved, checked, explained model."""
