"""Live page: a read-only snapshot of runs, a server on loopback, and the page that shows the snapshot."""
