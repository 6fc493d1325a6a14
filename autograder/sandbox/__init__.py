"""Runs student code in workers, which a forking process inside bubblewrap starts.

``worker`` is the only part that runs in the students' processes, and imports nothing else of ours.
The judge and these processes communicate through its ``wire``.
"""
