"""Pairs of ranks, their rates and channels: what every method of synthesis begins with."""
