"""When the tasks of a step run: each collective by itself, or all of them on the links that they share."""
