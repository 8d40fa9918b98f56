import numpy as np

import collsim as cs


@cs.algorithm("allreduce")
def my_ring(n):
    r = np.arange(n)
    for k in range(n - 1):
        yield cs.reduce(r, (r + 1) % n, chunk=(r - k) % n)  # add on arrival
    for k in range(n - 1):
        yield cs.copy(r, (r + 1) % n, chunk=(r + 1 - k) % n)  # replace on arrival
