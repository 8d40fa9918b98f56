"""PyTorch scripts as texts: what each way of splitting needs of torch."""
