"""Hide a word of a sentence, and see what two models take it for."""
