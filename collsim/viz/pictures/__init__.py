"""Still pictures, plots, films and printed sheets."""
