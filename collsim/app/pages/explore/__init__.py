"""Explore: one run, everything about it."""
