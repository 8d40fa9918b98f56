"""A job that is diagnosed, as pictures: its machine with what it used and could use, and its measured rates."""
