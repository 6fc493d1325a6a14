"""What Python and PyTorch say of errors: sentences and words that are nobody's secret.

Sentences are told only as a whole: their words alone may be those of a hidden text.
"""

import re

_SENTENCES = """
torch.Size([#])
mat1 and mat2 shapes cannot be multiplied (#x# and #x#)
size mismatch, got input (#), mat (#x#), vec (#)
The size of tensor a (#) must match the size of tensor b (#) at non-singleton dimension #
The expanded size of the tensor (#) must match the existing size (#) at non-singleton dimension #
Target sizes: [#]
Tensor sizes: [#]
shape '[#]' is invalid for input of size #
Expected size for first two dimensions of batch2 tensor to be: [#] but got: [#]
batch1 must be a 3D tensor
Sizes of tensors must match except in dimension #
Tensors must have same number of dimensions: got # and #
Expected size # but got size # for tensor number # in the list
stack expects each tensor to be equal size, but got [#] at entry # and [#] at entry #
Dimension out of range (expected to be in range of [#], but got #)
Given normalized_shape=[#], expected input with shape [*, #], but got input of size[#]
subscript @ has size # for operand # which does not broadcast with previously seen size #
the number of subscripts in the equation (#) does not match the number of dimensions (#)
split_with_sizes expects split_sizes to sum exactly to # (input tensor's size at dimension #)
number of dims don't match in permute
The shape of the mask [#] at index # does not match the shape of the indexed tensor [#] at index #
shape mismatch: value tensor of shape [#] cannot be broadcast to indexing result of shape [#]
too many indices for tensor of dimension #
with size #
is out of bounds for dimension # with size #
index out of range in self
selected index k out of range
invalid index of a 0-dim tensor
cannot assign module before Module.__init__() call
cannot assign parameters before Module.__init__() call
list index out of range
tuple index out of range
string index out of range
too many values to unpack (expected #)
not enough values to unpack (expected #, got #)
cannot unpack non-iterable
takes # positional arguments but # were given
takes # positional arguments but # was given
takes # positional argument but # were given
takes from # to # positional arguments but # were given
missing # required positional argument
missing # required positional arguments
missing # required keyword-only argument
missing # required keyword-only arguments
got an unexpected keyword argument
got multiple values for argument
object has no attribute
has no attribute
is not defined
cannot access local variable
where it is not associated with a value
object is not callable
object is not subscriptable
object is not iterable
object does not support item assignment
object cannot be interpreted as an integer
unsupported operand type(s) for
can only concatenate
must be Tensor, not
probability tensor contains either `inf`, `nan` or element < 0
upper bound and lower bound inconsistent with step sign
upper bound and larger bound inconsistent with step sign
argument must be
expected scalar type
but found
expected m1 and m2 to have the same dtype, but got
mat1 and mat2 must have the same dtype, but got
expected target dtype to be
Expected tensor for argument
to have one of the following scalar types: Long, Int
to have one of the following scalar types
but got
(while checking arguments for
result type can't be cast to the desired output type
masked_fill_ only supports boolean masks, but got mask with dtype
mask tensor must be
Expected all tensors to be on the same device, but found at least two devices
does not require grad and does not have a grad_fn
a leaf Variable that requires grad is being used in an in-place operation
a view of a leaf Variable that requires grad is being used in an in-place operation
random_ expects 'from' to be less than 'to', but got from=# >= to=#
one of the variables needed for gradient computation has been modified by an inplace operation
is a view and is being modified inplace
Error(s) in loading state_dict for
Missing key(s) in state_dict
view size is not compatible with input tensor's size and stride
(at least one dimension spans across two contiguous subspaces). Use .reshape(...) instead.
Unexpected key(s) in state_dict
Trying to backward through the graph a second time
maximum recursion depth exceeded
while calling a Python object
in comparison
division by zero
modulo by zero
math domain error
expected a positive input
min() arg is an empty sequence
max() arg is an empty sequence
min() iterable argument is empty
max() iterable argument is empty
unhashable type
not supported between instances of
cannot convert float to integer
Can't call numpy() on Tensor that requires grad
cannot assign to field
Boolean value of Tensor with more than one value is ambiguous
only integer tensors of a single element can be converted to an index
not implemented for
is out of bounds
object of type
has no len()
stack expects a non-empty TensorList
expected a non-empty list of Tensors
tensors used as indices must be long, int, byte or bool tensors
only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices
indices must be integers or slices, not
indices must be integers, not
slice indices must be integers or None or have an __index__ method
Only Tensors of floating point and complex dtype can require gradients
grad can be implicitly created only for scalar outputs
element # of tensors does not require grad and does not have a grad_fn
a Tensor with # elements cannot be converted to Scalar
iteration over a 0-d tensor
len() of a 0-d tensor
the number of sizes provided (#) must be greater or equal to
the number of dimensions in the tensor (#)
Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor
can't multiply sequence by non-int of type
pop from empty list
is not in list
x not in tuple
substring not found
object is not reversible
object is not an iterator
object does not support the context manager protocol
invalid literal for int() with base #
could not convert string to float
could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got
Expected input batch_size (#) to match target batch_size (#).
0D or 1D target tensor expected, multi-target not supported
output with shape [#] doesn't match the broadcast shape [#]
inconsistent tensor size, expected tensor [#] and src [#]
to have the same number of elements, but got # and # elements respectively
mat2 must be a matrix
self must be a matrix
batch2 must be a 3D tensor
Size does not match at dimension # expected index [#]
to be no larger than self [#] apart from dimension #
Expected dtype int32/int64 for index
Expected dtype int32 or int64 for index
expected both vectors to have same dtype
invalid multinomial distribution (sum of probabilities <= 0)
cannot sample n_sample > prob_dist.size(-1) samples without replacement
Dimension size must be non-negative
must be tuple of ints, not
must be tuple of Tensors, not
received an invalid combination of arguments - got
is not a Module subclass
as parameter
(torch.nn.Parameter or None expected)
is missing the required "forward" function
dropout probability has to be between 0 and 1, but got
output subscript @ does not appear in the equation for any input operand
input tensor must have at least # dimensions
where expected condition to be a boolean tensor, but got a tensor with dtype
expected sequence of length # at dim # (got #)
Could not infer dtype of
Use tensor.detach().numpy() instead.
expected str instance, int found
can only join an iterable
argument # is longer than argument #
argument # is shorter than argument #
No such file or directory
(position #)
' and '
(not "
") to
Long or Byte
range() arg # must not be zero
math range error
Sample larger than population or is negative
Cannot choose from an empty sequence
dictionary changed size during iteration
bincount only supports 1-d non-negative integral inputs.
Subtraction, the `-` operator, with two bool tensors is not supported.
Use the `^` or `logical_xor()` operator instead.
Negation, the `-` operator, on a bool tensor is not supported.
If you are trying to invert a mask, use the `~` or `logical_not()` operator instead.
split_size can only be 0 if dimension size is 0, but got dimension size of #
chunk expects `chunks` to be greater than 0, got: #
split_sizes=[#]
maximum size for tensor at dimension # is # but size is #
Padding length must be divisible by 2
Class values must be smaller than num_classes.
one_hot is only applicable to index tensor of type LongTensor.
Fan in and fan out can not be computed for tensor with fewer than 2 dimensions
number of dimensions in the tensor input does not match
the length of the desired ordering of dimensions i.e. input.dim() = # is not equal to len(dims) = #
duplicate dims are not allowed.
optimizer got an empty parameter list
Invalid learning rate
must be equal to input_size. Expected #, got #
has inconsistent input_size: got # expected #
"""
"""A number stands where # does, several in brackets where [#] does, a letter where @ does."""
_TYPES = """
RuntimeError TypeError ValueError IndexError KeyError AttributeError NameError AssertionError Tensor
Parameter Module NoneType NotImplementedType function method int float bool str list tuple dict set
Float Double Half BFloat16 Long Int Bool Byte FloatTensor LongTensor DoubleTensor BoolTensor float16
bfloat16 float32 float64 int32 int64 uint8 torch cpu cuda name module self input query key value
mask src tgt memory forward __init__
"""


def _pattern(sentence: str) -> str:
    number = r"-?\d{1,4}"
    several = rf"\[(?:{number}(?:, {number}){{0,5}})?\]"
    pattern = re.escape(sentence).replace(r"\[\#\]", several).replace(r"\#", rf"{number}(?!\d)")
    pattern = pattern.replace("@", "[A-Za-z]")
    return rf"\b{pattern}" if sentence[0].isalnum() else pattern


SENTENCE = re.compile("|".join(_pattern(line) for line in _SENTENCES.split("\n") if line))
WORDS = frozenset(_TYPES.split())
"""Types, devices, and what arguments and methods are called."""
