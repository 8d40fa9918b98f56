"""The first minute: one run as a picture, a sentence and a button, with bytes that are counted while it plays."""
