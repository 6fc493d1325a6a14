"""Training: the loop, losses, learning rate schedules, checkpoints, distributed data parallelism.

Knows no model; imports nothing else of ``course_lib``.
"""
