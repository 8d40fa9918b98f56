"""Other libraries: MPI's and Gloo's choices and times, and the backends of torch.distributed."""
