"""People at schools: what they want, in which words, and how sets of them are made, written and read."""
