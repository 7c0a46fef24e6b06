"""All states, where they are few."""
