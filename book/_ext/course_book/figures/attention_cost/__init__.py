"""What a layer costs, by length, width and heads."""
