"""What an exercise can ask for: an algorithm, a setting, or a rank program."""
