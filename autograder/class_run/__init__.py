"""A class, judged: on this machine or on a cluster, each result kept as soon as it is there.

Imports ``judging`` and what that stands on, and from ``releasing`` the students' library.
"""
