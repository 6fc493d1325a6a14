"""A conversation with SmolLM2 in the terminal: ``python -m course_lib.recipes.chat``."""
