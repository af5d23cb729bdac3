"""People at schools: their utilities, their words, and sets of them as files."""
