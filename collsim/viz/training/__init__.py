"""A step of training as pictures that move: its timeline, and several steps on one clock (Python and JavaScript side by
side)."""
