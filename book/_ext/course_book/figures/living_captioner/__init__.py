"""A picture that the reader makes, and a captioner that looks at it before each word."""
