"""Which penalty to take, and why."""
