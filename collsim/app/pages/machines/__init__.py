"""Machines: the way between two ranks, hop by hop."""
