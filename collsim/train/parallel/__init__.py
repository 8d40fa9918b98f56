"""Ways to split a training step over GPUs. Each is a value that knows how to write the TrainingStep of a model."""
