"""The story: one page to scroll, from one server that adds everything to a step of training."""
