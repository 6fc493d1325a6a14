# %% [markdown]
# # Homework 10: Angles
#
# | part | what you write | points |
# |---|---|---|
# | 1 | `cosine` and `nearest` | 5 |
# | 2 | a question in words | 3 |
#
# **Time:** about 30 minutes, after [word vectors](book:language-models#word-vectors).
#
# **The rule:** `torch.cosine_similarity` would be no answer, and costs the points.

# %% setup="imports"
import torch

from course_lib.notebook_tests import prepare_notebook
from course_lib.testing import assert_close, assert_equal, assert_gradients

prepare_notebook()


# %% solution="cosine" forbids="torch.cosine_similarity"
def cosine(a, b):
    """Return the cosine of the angle between two vectors of shape (d,)."""
    ### BEGIN SOLUTION
    return a @ b / (a.norm() * b.norm())
    ### END SOLUTION


# %% test="cosine-values" points=2 read="language-models#word-vectors"
# The cosine is the scalar product of two vectors, divided by both norms
a, b = torch.tensor([3.0, 4.0]), torch.tensor([4.0, 3.0])
# The scalar product is 24, and both norms are 5.
assert_close(cosine(a, b), torch.tensor(0.96), what="cosine")
### BEGIN HIDDEN TESTS
assert_matches(cosine, reference.cosine, torch.randn(5), torch.randn(5))
### END HIDDEN TESTS

# %% test="cosine-gradients" points=1 read="language-models#word-vectors"
# Gradients reach both vectors
assert_gradients(cosine, torch.tensor([3.0, 4.0]), torch.tensor([4.0, 3.0]))
### BEGIN HIDDEN TESTS
assert_gradients(cosine, torch.randn(5), torch.randn(5))
### END HIDDEN TESTS

# %% variants="cosine"
# fmt: off
right("unit vectors", ("a @ b / (a.norm() * b.norm())", "(a / a.norm()) @ (b / b.norm())"))
right("sums", "def cosine(a, b):\n    return (a * b).sum() / ((a**2).sum() * (b**2).sum()).sqrt()")
wrong("no norms", (" / (a.norm() * b.norm())", ""), lost="values",
    hint="You return the scalar product; divide it by both norms.")
wrong("one norm", (" * b.norm()", ""), lost="values",
    hint="You divide by the norm of a only; divide by that of b too.")
wrong("a norm detached", ("b.norm()", "b.norm().detach()"), lost="gradients",
    hint="You cut the gradient: detach() does; leave it out.")
# fmt: on


# %% solution="nearest"
def nearest(query, vectors):
    """Return the row of ``vectors``, of shape (n, d), with the largest cosine to ``query``."""
    ### BEGIN SOLUTION
    return max(range(len(vectors)), key=lambda row: cosine(query, vectors[row]))
    ### END SOLUTION


# %% test="nearest-row" points=2 read="language-models#word-vectors"
# The nearest vector has the largest cosine, however long it is
vectors = torch.tensor([[9.0, 0.0], [1.0, 1.0], [0.0, 5.0]])
assert_equal(nearest(torch.tensor([2.0, 1.0]), vectors), 1, what="row")  # at 18 degrees
### BEGIN HIDDEN TESTS
assert_matches(nearest, reference.nearest, torch.randn(3), torch.randn(40, 3))
### END HIDDEN TESTS

# %% variants="nearest"
# fmt: off
right("argmax", ("max(range(len(vectors)), key=lambda row: cosine(query, vectors[row]))",
                 "int(torch.stack([cosine(query, v) for v in vectors]).argmax())"))
right("a loop", """
def nearest(query, vectors):
    best = 0
    for row in range(len(vectors)):
        if cosine(query, vectors[row]) > cosine(query, vectors[best]):
            best = row
    return best
""")
wrong("scalar products", ("cosine(query, vectors[row])", "query @ vectors[row]"), lost="row",
    hint="You compare scalar products, which favour long vectors; compare cosines.")
wrong("the farthest", ("max(range", "min(range"), lost="row",
    hint="You return the farthest vector; the nearest has the largest cosine.")
# fmt: on

# %% [markdown] written="why-norms" points=3 read="language-models#word-vectors"
# ### Why divide by the norms?
#
# What would go wrong with the scalar product alone?
#
# ### BEGIN SOLUTION
# Frequent words have long vectors, and would be near to everything.
# ### END SOLUTION

# %% [markdown]
# ### Which words are near to each other?
#
# Once your functions are right, the cell below finds each word's neighbour, in less than five
# seconds.

# %% demo="neighbours" prints="cat is near to dog"
import matplotlib.pyplot as plt

words = ["cat", "dog", "the", "a"]
vectors = torch.tensor([[2.0, 1.0], [3.0, 2.0], [1.0, 9.0], [0.0, 8.0]])
for row, word in enumerate(words):
    others = [other for other in range(len(words)) if other != row]
    print(f"{word} is near to {words[others[nearest(vectors[row], vectors[others])]]}")
    plt.arrow(0, 0, *vectors[row].tolist(), head_width=0.2)
    plt.annotate(word, vectors[row].tolist())
plt.show()
