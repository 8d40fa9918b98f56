"""The page on flows that collide."""
