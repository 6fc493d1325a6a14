"""Published weights of BERT, GPT-2 and MarianMT, from folders in Hugging Face's format.

Imports ``models``, ``layers`` and ``tokenization``.
"""
