"""How long a GPU computes: from a catalogue of GPUs and few constants, or from what was measured."""
