"""Shared parts of pages, figures and terminal tables: escaping, style, drawing, numbers in words."""
