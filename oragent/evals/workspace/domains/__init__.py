"""Business domains of generated workspaces: tables, a requirement, a program, and revisions that make sense there."""
