"""The command line: one module a command. What is heavy to import, a command imports itself."""
