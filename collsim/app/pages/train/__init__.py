"""Train: one step of training, where its time goes, and what would change it."""
