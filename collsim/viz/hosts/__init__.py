"""What shows a player: a notebook, a live widget, an offline file."""
