"""The modules `torch.nn`, `torch.optim` and `torch.utils.data` of a rank program."""
