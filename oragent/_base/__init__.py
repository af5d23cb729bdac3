"""Values that every part uses: errors, settings, budgets, files, directions, statistics, output."""
