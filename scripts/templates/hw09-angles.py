# %% [markdown]
# # Homework 9: Angles
#
# | part | what you write | points |
# |---|---|---|
# | 1 | `cosine`; and a question in words | 5 |
#
# **Time:** about 30 minutes, after [word vectors](book:language-models#word-vectors).
#
# **The rule:** `torch.cosine_similarity` would be no answer, and costs the points.

# %% setup="imports"
import torch
from course_lib.testing import assert_close


# %% solution="cosine" forbids="torch.cosine_similarity"
def cosine(a, b):
    """Return the cosine of the angle between two vectors of shape (d,)."""
    ### BEGIN SOLUTION
    return a @ b / (a.norm() * b.norm())
    ### END SOLUTION


# %% test="cosine-values" points=2 read="language-models#word-vectors"
# The cosine is the scalar product of two vectors, divided by both norms
norms = "divide by both norms"
a, b = torch.tensor([3.0, 4.0]), torch.tensor([4.0, 3.0])
assert_close(cosine(a, b), torch.tensor(0.96), what="cosine", mistakes={norms: a @ b})
### BEGIN HIDDEN TESTS
a, b = torch.randn(5), torch.randn(5)
expected = a @ b / (a.norm() * b.norm())
assert_close(cosine(a, b), expected, what="cosine", mistakes={norms: a @ b})
### END HIDDEN TESTS

# %% [markdown] written="why-norms" points=3 read="language-models#word-vectors"
# ### Why divide by the norms?
#
# What would go wrong with the scalar product alone?
#
# ### BEGIN SOLUTION
# Frequent words have long vectors, and would be near to everything.
# ### END SOLUTION

# %% [markdown]
# ### Who is near to whom?
#
# Once your function is right, the cell below finds each word's neighbour, in less than five
# seconds.

# %% demo="neighbours"
import matplotlib.pyplot as plt

vectors = {"cat": [2.0, 1.0], "dog": [3.0, 2.0], "the": [1.0, 9.0], "a": [0.0, 8.0]}
vectors = {word: torch.tensor(vector) for word, vector in vectors.items()}
for word, vector in vectors.items():
    others = {other: cosine(vector, vectors[other]) for other in vectors if other != word}
    print(f"{word} is near to {max(others, key=others.get)}")
    plt.arrow(0, 0, *vector.tolist(), head_width=0.2)
    plt.annotate(word, vector.tolist())
plt.show()
