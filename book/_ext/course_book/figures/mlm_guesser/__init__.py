"""Words are hidden; a BERT and a left-to-right model guess them, in the page."""
