"""The lessons: what they say, and the runs that show it; `chapters/` has a file for each."""
