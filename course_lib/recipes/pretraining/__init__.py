"""A small BERT from scratch: pre-trained, fine-tuned, held against one that is not pre-trained.

``python -m course_lib.recipes.pretraining pretrain|finetune``; ``presets.py`` says what is trained,
``texts.py`` on what, and ``pretrain.py`` and ``finetune.py`` what a run leaves behind.
"""
