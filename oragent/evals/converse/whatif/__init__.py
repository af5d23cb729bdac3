"""What-if questions on models: sets as folders, run by their gold lines, by a language model or by a small one."""
