"""A word of a caption, and where the model looked; what it says with a place covered."""
