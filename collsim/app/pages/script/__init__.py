"""Read a training script: a text in, findings and a step out."""
