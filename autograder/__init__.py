"""The trusted judge: releases homework, grades a class in a sandbox, and reports."""
