"""Workspaces of our own making: specification, data, documents, noise, revisions, questions, and all labels."""
