"""Steps that are split over many GPUs, as pictures: pipelines and FSDP on one clock, ranks on nodes, and every legal
split as a map (Python and JavaScript side by side)."""
