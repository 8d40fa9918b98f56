"""What runs in the process of one rank: its program, the wires to the others, and the clock that paces them.

These modules need numpy and nothing else of the package but its errors, so that a rank is up in a tenth of a second.
"""
