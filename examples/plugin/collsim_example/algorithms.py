"""A module that registers an algorithm when it is imported."""

import collsim as cs


@cs.algorithm("broadcast", steps=lambda n: n - 1, source="an example")
def broadcast_one_by_one(n):
    """The root sends to one after the other."""
    for r in range(1, n):
        yield cs.copy(0, r, chunk=0)
