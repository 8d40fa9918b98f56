"""What a machine is to NCCL: facts of a Topology, or of the words of a table."""
