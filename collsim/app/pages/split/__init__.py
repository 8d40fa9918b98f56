"""Split: one step over a thousand GPUs, where its groups stand, what they send, and every legal split beside it."""
