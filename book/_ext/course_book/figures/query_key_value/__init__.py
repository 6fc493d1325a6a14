"""One query meets every key, and takes its share of every value."""
