"""Where student code runs: bubblewrap around a forking process, and inside it the workers.

``worker`` is the only part that lies beside student code, and imports nothing else of ours. Judge
and students' processes talk through its ``wire``.
"""
