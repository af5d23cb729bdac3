"""Values that every package uses: errors, settings, budgets, files, directions, statistics, output."""
