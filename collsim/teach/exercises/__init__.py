"""Exercises that check themselves, what was solved, and grading."""
