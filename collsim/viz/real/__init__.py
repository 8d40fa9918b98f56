"""A measured run beside its prediction, drawn."""
