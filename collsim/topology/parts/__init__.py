"""Parts of a machine by name: GPUs, the link between sockets, and a machine with other parts than its own."""
