"""What NCCL would do and how long it would take: its own tuner beside a model of the algorithm over the machine's links."""
