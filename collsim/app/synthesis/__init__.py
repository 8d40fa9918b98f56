"""The schedule that would close the gap, against ring and tree: on whichever page shows a bound."""
