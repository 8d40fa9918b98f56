"""Work that takes longer than a glance, in processes of its own."""
