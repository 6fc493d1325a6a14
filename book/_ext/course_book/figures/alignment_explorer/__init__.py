"""Source words left, target words right, lines as thick as weights."""
