"""Published runs, how far predictions are from them, and what would explain a gap."""
