"""One mask, from the decoder's to the encoder's, by the length of the prefix."""
