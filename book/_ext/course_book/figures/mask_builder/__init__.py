"""A mask to click together, and what it lets through."""
