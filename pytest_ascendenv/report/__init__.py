"""Findings as people and tools read them."""
