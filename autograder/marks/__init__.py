"""What a submission counts: what the judge found, what a person gave, what lateness costs.

Imports ``judging``.
"""
