"""What is trained and what a step of it does: layers of a model, tasks of a step."""
