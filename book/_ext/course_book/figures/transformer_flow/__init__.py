"""The Transformer, stage by stage, with the shape of everything."""
