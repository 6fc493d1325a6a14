"""Sizes and gradients through a stack of layers, in four stackings."""
