"""The sidebar of a run, and its machine edited where it is drawn: history, shelf of parts, panel, what to buy."""
