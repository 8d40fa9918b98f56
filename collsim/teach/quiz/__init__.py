"""Questions made from a run."""
