"""What is said about a run, in English and Chinese."""
