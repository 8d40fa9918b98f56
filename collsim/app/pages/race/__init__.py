"""Race: several runs on one clock."""
