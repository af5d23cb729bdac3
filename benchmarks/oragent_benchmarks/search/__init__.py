"""Studies of the search, and figures of its runs for papers."""
