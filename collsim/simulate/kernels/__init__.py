"""The loops of the event engine: numba compiles them where it is there, plain Python runs the same source where it is
not.

Not imported before the event engine first runs. Their rules are in the docstring of `event`. Two ways through a
schedule:

- `walk` takes the transfers in program order, once, and stops where that order is not provably the order of events.
- `queue` runs a queue of events over gates: a gate is a group of transfers that others wait for.

A row is a transfer in program order; a route is a pair of endpoints; a seat is the place of a transfer under way.
Everything is in arrays of records (`tables`), few enough to be handed around: a compiled function pays for each array
it is given.

A kernel calls only kernels of its own file: numba's cache looks at the age of that file, and would keep a stale copy of
any other.
"""
