"""Whole models, from n-grams to BERT, and in ``pretrained`` the loaders of published weights.

Imports ``layers``.
"""
