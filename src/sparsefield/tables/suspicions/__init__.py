"""What looks odd in a table."""
