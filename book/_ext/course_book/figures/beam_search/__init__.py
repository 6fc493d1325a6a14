"""Each step a column of candidates, best on top."""
