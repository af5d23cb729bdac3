"""Sets of what-if questions on models as folders: run by gold lines, by a language model or by a small one."""
