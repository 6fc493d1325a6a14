"""Published weights of BERT, GPT-2, Llama and MarianMT, from Hugging Face's folders and GGUF files.

Each ``from_huggingface`` takes a folder that holds ``config.json`` and the weights, and returns the
model in evaluation mode, in the dtype of the checkpoint. A missing file is a FileNotFoundError. A
checkpoint of another kind of model, or one that lacks a tensor, has one too many, or holds more
than tensors, is a ValueError. ``read_tokenizer`` of ``bert`` and ``llama`` takes the same folder.

Imports ``models``, ``layers`` and ``tokenization``.
"""
