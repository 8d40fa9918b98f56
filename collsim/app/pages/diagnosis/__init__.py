"""Why is this job slow: evidence in, causes out."""
