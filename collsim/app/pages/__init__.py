"""The pages, one room each where a page is more than one file."""
