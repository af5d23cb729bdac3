"""Generated sets for ``bench workspace``: clean models of businesses, and the documents and files of their planners."""
