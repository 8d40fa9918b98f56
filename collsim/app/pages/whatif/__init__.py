"""What-if: one run before and after a change."""
