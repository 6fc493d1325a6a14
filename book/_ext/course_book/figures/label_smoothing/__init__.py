"""What a word costs, by how far its logit is ahead of the others."""
