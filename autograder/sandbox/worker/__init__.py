"""Code that runs beside the student's: cells, calls from the judge, recorder and reader.

The sandbox mounts this folder as the package ``course_worker``. It imports nothing else of ours.
"""
