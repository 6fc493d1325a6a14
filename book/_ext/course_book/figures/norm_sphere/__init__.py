"""A vector of three numbers falls onto LayerNorm's plane and slides onto its circle."""
