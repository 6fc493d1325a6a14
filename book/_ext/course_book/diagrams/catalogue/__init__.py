"""The book's diagrams as data, and the blocks that several of them are built of."""
