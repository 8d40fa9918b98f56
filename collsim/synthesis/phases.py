"""What a search is doing, as whoever asked for `progress` is told: one word for each part of it."""

RATES = "rates"
TREES, REDUCING_TREES = "trees", "reducing trees"
TIMING_TREES = "timing trees"
MATCHING = "matching"
SOLVER = "solver"
LIBRARY = "ring and tree"
#: All of them, in the order in which they come.
PHASES = (RATES, TREES, REDUCING_TREES, TIMING_TREES, MATCHING, SOLVER, LIBRARY)
