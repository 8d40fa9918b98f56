"""How a value reaches a person: a catalog printed as a table, text in HTML, the progress of a long run."""
