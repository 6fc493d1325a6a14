"""BLEU of the reader's own text, with the n-grams that count marked."""
