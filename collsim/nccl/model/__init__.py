"""How long an algorithm takes: NCCL's tuner, and a model over the machine's links."""
