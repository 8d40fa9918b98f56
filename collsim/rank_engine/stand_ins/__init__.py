"""What stands in for parts of torch and of Python's library in a rank program, and copies of what it sends."""
