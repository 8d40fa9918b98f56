"""Bring your program: what one rank runs, run for all ranks and drawn."""
