"""What every page stands in: session and address, sidebar, controls, look, results."""
