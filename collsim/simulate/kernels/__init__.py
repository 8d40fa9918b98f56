"""The loops of the event engine: numba compiles them where it is there, plain Python runs the same source where it is
not.

Not imported before the event engine first runs. Their rules are in the docstring of `event`. Two ways through a
schedule:

- `walk` takes the transfers in program order, once, and stops where that order is not provably the order of events.
- `queue` runs a queue of events over gates: `gates` are groups of transfers that others wait for, `rates` gives flows
  their max-min fair rates, `groups` keeps flows of one rate together, `heap` keeps seats and links in order.

A row is a transfer in program order; a route is a pair of endpoints; a seat is the place of a transfer under way.
Everything is in arrays of records (`tables`), few enough to be handed around: a compiled function pays for each array
it is given.

A kernel may call kernels of other files: the cache asks for all files of this folder (`tables`), where numba alone
looks at the kernel's own.
"""
