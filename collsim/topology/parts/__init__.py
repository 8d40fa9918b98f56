"""Parts of a machine by name: GPUs, the link between sockets, a machine with other parts than its own, and which GPUs
take part where only their number is given."""
