"""The command line: one file a subsystem, which composes what the others do."""
