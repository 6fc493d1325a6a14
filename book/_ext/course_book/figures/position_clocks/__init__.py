"""A position as the hands of clocks, and a shift as a turn of each."""
