"""A few ReLU units, each one bend, follow a curve."""
