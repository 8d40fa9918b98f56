"""A machine edited where it is drawn: its history, the shelf of parts, the panel on the picture, and what to buy."""
