"""The way from one rank to another, hop by hop."""
