"""Training: the loop, losses, learning rate schedules, checkpoints, distributed data parallelism.

Imports no other room: the loop trains any module.
"""
