"""The Transformer's learning rate, by width, warm-up and update."""
