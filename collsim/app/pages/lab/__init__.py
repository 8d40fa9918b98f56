"""Lab: a schedule on the processes of this computer, below its prediction."""
