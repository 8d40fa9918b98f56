"""Write: an algorithm of one's own, checked and played."""
