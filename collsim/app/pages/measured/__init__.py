"""Measured: published runs and one's own logs beside the prediction."""
