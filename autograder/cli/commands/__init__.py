"""The commands, one module each; code that several share lies in ``autograder.cli``."""
