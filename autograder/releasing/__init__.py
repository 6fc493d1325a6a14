"""From a homework to what students get: its notebook, their edition of the library, their branch.

Imports ``homework_source``, and from ``sandbox`` the students' packages and the reader.
"""
