"""Collectives by spanning trees: their rates, whole trees, packing, pieces and order."""
