"""Releases homework to students: its notebook, their edition of the library, their branch.

Imports ``homework_source``, and from ``sandbox`` the students' packages and the reader.
"""
