"""A class: the question that the teacher asks, the votes, and the page of a student."""
