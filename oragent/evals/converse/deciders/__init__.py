"""Simulated people who lead a conversation."""
