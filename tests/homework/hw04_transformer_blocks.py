"""hw04: a class of every kind, and the mistakes that its checks must tell apart.

Twenty-one points are to be had from tests, each check is worth one; three from the written
question, which the judge leaves to a person.
"""

from autograder.judging.results import Status

from .submissions import BLANK, Edit, Submission, mistake, right

DELIGHT = "Moons to be found:"

ANSWER = """\
### A hundred layers

The derivative is the identity plus something, and a product of a hundred of these still holds the
identity, so the gradient arrives. Ben's gradient goes through a hundred norms. Ana's variance is
101; a last norm brings it back to 1.
"""

# ---- right, each in a style of its own ----

LOOPS: dict[str, Edit] = {
    "position_angles": """
def position_angles(positions, width, *, base=10000.0, dtype=torch.float64):
    if width <= 0 or width % 2 == 1:
        raise ValueError(f"width {width}")
    table = torch.zeros(len(positions), width // 2, dtype=dtype, device=positions.device)
    for row, t in enumerate(positions.tolist()):
        for i in range(width // 2):
            table[row, i] = t / base ** (2 * i / width)
    return table
""",
    "SinusoidalPositions": """
class SinusoidalPositions(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        if d_model < 1 or d_model % 2:
            raise ValueError("d_model must be even")
        self.width = d_model

    def forward(self, x, offset=0):
        vectors = self.vectors(x.shape[1], offset=offset)
        return torch.stack([sentence + vectors.to(x) for sentence in x])

    def vectors(self, length, offset=0, device="cpu", dtype=torch.float32):
        if offset < 0:
            raise ValueError("offset")
        rows = []
        for t in range(offset, offset + length):
            row = []
            for i in range(self.width // 2):
                angle = t / 10000 ** (2 * i / self.width)
                row += [math.sin(angle), math.cos(angle)]
            rows.append(row)
        return torch.tensor(rows, dtype=torch.float64).to(dtype).to(device)
""",
    "shift_matrix": """
def shift_matrix(offset, d_model):
    if d_model < 2 or d_model % 2:
        raise ValueError(d_model)
    matrix = torch.zeros(d_model, d_model, dtype=torch.float64)
    for i in range(0, d_model, 2):
        angle = offset / 10000 ** (i / d_model)
        matrix[i, i] = matrix[i + 1, i + 1] = math.cos(angle)
        matrix[i, i + 1] = math.sin(angle)
        matrix[i + 1, i] = -math.sin(angle)
    return matrix
""",
    "RotaryPositions": """
class RotaryPositions(nn.Module):
    def __init__(self, head_dim, *, base=10_000.0):
        super().__init__()
        if head_dim <= 0 or head_dim % 2 != 0 or base <= 1:
            raise ValueError("head_dim or base")
        self.head_dim, self.base = head_dim, base

    def forward(self, x, *, offset=0):
        if offset < 0:
            raise ValueError(offset)
        rows = []
        for place in range(x.shape[-2]):
            entries = []
            for i in range(0, self.head_dim, 2):
                angle = (place + offset) / self.base ** (i / self.head_dim)
                a, b = x[..., place, i], x[..., place, i + 1]
                entries += [a * math.cos(angle) - b * math.sin(angle)]
                entries += [a * math.sin(angle) + b * math.cos(angle)]
            rows.append(torch.stack(entries, dim=-1))
        return torch.stack(rows, dim=-2)
""",
    "FeedForward": """
class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, *, activation="relu", dropout=0.0):
        super().__init__()
        if min(d_model, d_ff) < 1:
            raise ValueError("sizes")
        if activation == "relu":
            self.activation = nn.ReLU()
        elif activation == "gelu":
            self.activation = nn.GELU()
        elif activation == "gelu_tanh":
            self.activation = nn.GELU("tanh")
        elif activation == "silu":
            self.activation = nn.SiLU()
        else:
            raise ValueError(activation)
        self.up_projection = nn.Linear(d_model, d_ff)
        self.down_projection = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(p=dropout)

    def forward(self, x):
        x = self.up_projection(x)
        x = self.activation(x)
        x = self.dropout(x)
        x = self.down_projection(x)
        return x
""",
    "layer_norm": """
def layer_norm(x, weight, bias, *, eps=1e-5):
    rows = []
    for token in x.reshape(-1, x.shape[-1]):
        d = len(token)
        mean = sum(token) / d
        variance = sum((entry - mean) ** 2 for entry in token) / d if d < 100 else token.var(
            unbiased=False
        )
        rows.append(weight * (token - mean) / (variance + eps) ** 0.5 + bias)
    return torch.stack(rows).reshape(x.shape)
""",
    "rms_norm": """
def rms_norm(x, weight, *, eps=1e-6):
    rows = [
        token / torch.sqrt(token @ token / len(token) + eps) * weight
        for token in x.reshape(-1, x.shape[-1])
    ]
    return torch.stack(rows).reshape(x.shape)
""",
    "LayerNorm": """
class LayerNorm(nn.Module):
    def __init__(self, d_model, *, eps=1e-5):
        super().__init__()
        if d_model <= 0 or eps <= 0:
            raise ValueError("positive, please")
        self.eps = eps
        self.register_parameter("weight", nn.Parameter(torch.full((d_model,), 1.0)))
        self.register_parameter("bias", nn.Parameter(torch.full((d_model,), 0.0)))

    def forward(self, x):
        centred = x - x.mean(-1, keepdim=True)
        return self.weight * centred / (centred**2).mean(-1, keepdim=True).add(self.eps).sqrt() + (
            self.bias
        )
""",
    "layer_norm_backward": """
def layer_norm_backward(upstream, x, weight, *, eps=1e-5):
    d = x.shape[-1]
    x_rows, u_rows = x.reshape(-1, d), upstream.reshape(-1, d)
    gain_gradient, bias_gradient = torch.zeros_like(weight), torch.zeros_like(weight)
    rows = []
    for token, u in zip(x_rows, u_rows):
        s = (token.var(correction=0) + eps) ** 0.5
        normal = (token - token.mean()) / s
        gain_gradient = gain_gradient + u * normal
        bias_gradient = bias_gradient + u
        # The Jacobian, written out: (I - 1/d - normal normal^T / d) / s
        jacobian = torch.eye(d).to(token) - 1 / d - torch.outer(normal, normal) / d
        rows.append(jacobian @ (u * weight) / s)
    return torch.stack(rows).reshape(x.shape), gain_gradient, bias_gradient
""",
    "diagnose_layer_norm": """
def diagnose_layer_norm(norm):
    x = torch.tensor([[[1.0, 2.0, 6.0], [7.0, -4.0, 0.0]], [[9.0, 2.0, 2.0], [0.0, 1.0, 0.0]]])
    ones, zeros = torch.ones(3), torch.zeros(3)
    got = norm(x, ones, zeros, eps=0.7)
    centred = x - x.mean(-1, keepdim=True)
    variance = centred.pow(2).mean(-1, keepdim=True)
    expectations = {
        "right": centred / (variance + 0.7).sqrt(),
        "divides by d_model - 1": centred / (variance * 3 / 2 + 0.7).sqrt(),
        "eps outside the root": centred / (variance.sqrt() + 0.7),
        "keeps the mean": x / (variance + 0.7).sqrt(),
    }
    for verdict, expected in expectations.items():
        if torch.allclose(got, expected, atol=1e-4):
            return verdict
    if torch.allclose(got, x / (x.pow(2).mean(-1, keepdim=True) + 0.7).sqrt(), atol=1e-4):
        return "keeps the mean"
    return "mixes the tokens"
""",
    "Residual": """
class Residual(nn.Module):
    def __init__(self, norm, *, norm_position, dropout=0.0):
        super().__init__()
        if norm_position not in ("pre", "post"):
            raise ValueError(norm_position)
        self.add_module("norm", norm)
        self.norm_position, self.first = norm_position, norm_position == "pre"
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, sublayer):
        read = self.norm(x) if self.first else x
        total = x + self.dropout(sublayer(read))
        return total if self.first else self.norm(total)
""",
}

COMPLEX: dict[str, Edit] = {
    "position_angles": """
def position_angles(
    positions: Tensor, width: int, *, base: float = 10_000.0, dtype: torch.dtype = torch.float64
) -> Tensor:
    if width < 2 or width & 1:
        raise ValueError(f"width must be positive and even, got {width}")
    exponents = torch.arange(width // 2, dtype=dtype, device=positions.device) * 2 / width
    return torch.outer(positions.to(dtype), torch.pow(base, -exponents))
""",
    "SinusoidalPositions": """
class SinusoidalPositions(nn.Module):
    def __init__(self, d_model: int) -> None:
        super().__init__()
        if d_model <= 0 or d_model % 2:
            raise ValueError
        self.d_model = d_model

    def vectors(self, length, *, offset=0, device=None, dtype=torch.float32):
        if offset < 0:
            raise ValueError("offset is negative")
        positions = torch.arange(length, device=device) + offset
        hands = torch.exp(1j * position_angles(positions, self.d_model))
        out = torch.empty(length, self.d_model, device=device, dtype=dtype)
        out[:, 0::2], out[:, 1::2] = hands.imag, hands.real
        return out

    def forward(self, x: Tensor, *, offset: int = 0) -> Tensor:
        length = x.shape[-2]
        return x + self.vectors(length, offset=offset, device=x.device, dtype=x.dtype)[None]
""",
    "shift_matrix": """
def shift_matrix(offset: int, d_model: int) -> Tensor:
    # Solve it: the matrix that carries many positions to those that stand offset further.
    if d_model % 2 or d_model <= 0:
        raise ValueError("even, please")
    speeds = position_angles(torch.tensor([1]), d_model)[0]
    generator = torch.zeros(d_model, d_model, dtype=torch.float64)
    for i, speed in enumerate(speeds):
        generator[2 * i, 2 * i + 1] = speed
        generator[2 * i + 1, 2 * i] = -speed
    return torch.matrix_exp(offset * generator)
""",
    "RotaryPositions": """
class RotaryPositions(nn.Module):
    def __init__(self, head_dim: int, *, base: float = 10_000.0):
        super().__init__()
        if base <= 1:
            raise ValueError("base")
        position_angles(torch.zeros(1), head_dim)  # refuses what is odd
        self.head_dim, self.base = head_dim, base

    def forward(self, x: Tensor, *, offset: int = 0) -> Tensor:
        if offset < 0:
            raise ValueError("offset")
        positions = torch.arange(offset, x.shape[-2] + offset, device=x.device)
        angles = position_angles(positions, self.head_dim, base=self.base)
        points = torch.view_as_complex(x.double().contiguous().unflatten(-1, (-1, 2)))
        turned = points * torch.polar(torch.ones_like(angles), angles)
        return torch.view_as_real(turned).flatten(-2).to(x.dtype)
""",
    "FeedForward": """
class FeedForward(nn.Module):
    def __init__(self, d_model: int, d_ff: int, *, activation: str = "relu", dropout: float = 0.0):
        super().__init__()
        if d_model < 1 or d_ff < 1:
            raise ValueError("too narrow")
        if activation not in get_args(Activation):
            raise ValueError(activation)
        if not 0 <= dropout <= 1:
            raise ValueError(dropout)
        self.up_projection = nn.Linear(d_model, d_ff)
        self.down_projection = nn.Linear(d_ff, d_model)
        self.name, self.p = activation, dropout

    def activation(self, inner):
        if self.name == "relu":
            return inner.clamp(min=0)
        if self.name == "silu":
            return F.silu(inner)
        return F.gelu(inner, approximate="tanh" if self.name == "gelu_tanh" else "none")

    def forward(self, x):
        inner = self.activation(self.up_projection(x))
        return self.down_projection(F.dropout(inner, p=self.p, training=self.training))
""",
    "layer_norm": """
def layer_norm(x, weight, bias, *, eps=1e-5):
    variance, mean = torch.var_mean(x, dim=-1, keepdim=True, correction=0)
    return torch.addcmul(bias, (x - mean) * torch.rsqrt(variance + eps), weight)
""",
    "rms_norm": """
def rms_norm(x: Tensor, weight: Tensor, *, eps: float = 1e-6) -> Tensor:
    squares = torch.einsum("...d,...d->...", x, x)[..., None]
    return x * weight * torch.rsqrt(squares / x.shape[-1] + eps)
""",
    "LayerNorm": """
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, *, eps: float = 1e-5) -> None:
        super().__init__()
        if not (d_model > 0 and eps > 0):
            raise ValueError((d_model, eps))
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))

    def forward(self, x: Tensor) -> Tensor:
        return layer_norm(x, self.weight, self.bias, eps=self.eps)
""",
    "layer_norm_backward": """
def layer_norm_backward(upstream, x, weight, *, eps=1e-5):
    d = x.size(-1)
    variance, mean = torch.var_mean(x, dim=-1, keepdim=True, correction=0)
    inverse = (variance + eps).rsqrt()
    normal = (x - mean) * inverse
    v = upstream * weight
    variance_gradient = (v * (x - mean) * -0.5 * inverse**3).sum(-1, keepdim=True)
    mean_gradient = (-v * inverse).sum(-1, keepdim=True)
    x_gradient = v * inverse + variance_gradient * 2 * (x - mean) / d + mean_gradient / d
    gain_gradient = torch.einsum("td,td->d", upstream.reshape(-1, d), normal.reshape(-1, d))
    return [x_gradient, gain_gradient, upstream.reshape(-1, d).sum(0)]
""",
    "diagnose_layer_norm": """
def _call(norm, x, eps):
    return norm(x, torch.ones(x.shape[-1]), torch.zeros(x.shape[-1]), eps=eps)


def diagnose_layer_norm(norm: Callable[..., Tensor]) -> str:
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(3, 4, 5, generator=generator)
    singles = [[_call(norm, token[None, None], 1e-5)[0, 0] for token in s] for s in x]
    singles = torch.stack([torch.stack(s) for s in singles])
    if (singles - _call(norm, x, 1e-5)).abs().max() > 1e-3:
        return "mixes the tokens"
    if (_call(norm, x + 5, 1e-5) - _call(norm, x, 1e-5)).abs().max() > 1e-2:
        return "keeps the mean"
    if abs(_call(norm, x, 1e-9).square().mean().item() - 1) > 1e-2:
        return "divides by d_model - 1"
    large = _call(norm, torch.tensor([[[-1.0, 1.0] * 50]]), 1.0)
    return "right" if large[0, 0, 1] > 0.6 else "eps outside the root"
""",
    "Residual": """
class Residual(nn.Module):
    def __init__(self, norm: nn.Module, *, norm_position: NormPosition, dropout: float = 0.0):
        super().__init__()
        check_norm_position(norm_position)
        if dropout < 0 or dropout > 1:
            raise ValueError("no share")
        self.parts = nn.ModuleDict({"norm": norm})
        self.p, self.norm_position = dropout, norm_position

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        norm = self.parts["norm"]
        match self.norm_position:
            case "pre":
                said = sublayer(norm(x))
            case "post":
                said = sublayer(x)
        total = torch.add(x, F.dropout(said, self.p, self.training))
        return norm(total) if self.norm_position == "post" else total
""",
}

TRICKS: dict[str, Edit] = {
    "position_angles": """
def position_angles(positions, width, *, base=10_000.0, dtype=torch.float64):
    if width % 2 != 0 or not width > 0:
        raise ValueError("width")
    speeds = [base ** -(k / width) for k in range(0, width, 2)]
    speeds = torch.tensor(speeds, dtype=torch.float64, device=positions.device)
    return (positions.double()[..., None] * speeds).to(dtype)
""",
    "SinusoidalPositions": """
class SinusoidalPositions(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        if not (d_model > 0 and d_model % 2 == 0):
            raise ValueError("even and positive")
        self.register_buffer("phase", torch.arange(d_model) % 2 * math.pi / 2, persistent=False)

    def forward(self, x, *, offset=0):
        return self.vectors(x.size(-2), offset=offset, device=x.device, dtype=x.dtype) + x

    def vectors(self, length, *, offset=0, device=None, dtype=torch.float32):
        if offset < 0:
            raise ValueError("offset")
        positions = torch.arange(offset, offset + length, device=device)
        angles = position_angles(positions, len(self.phase)).repeat_interleave(2, dim=1)
        quarter = torch.arange(len(self.phase), device=device) % 2 * (math.pi / 2)
        return (angles + quarter.double()).sin().to(dtype)  # cos(a) = sin(a + pi / 2)
""",
    "shift_matrix": """
def shift_matrix(offset, d_model):
    angles = position_angles(torch.tensor([offset]), d_model).flatten()
    even = torch.arange(0, d_model, 2)
    matrix = torch.diag(angles.cos().repeat_interleave(2))
    matrix[even, even + 1] = angles.sin()
    matrix[even + 1, even] = -angles.sin()
    return matrix
""",
    "RotaryPositions": """
class RotaryPositions(nn.Module):
    def __init__(self, head_dim, *, base=10_000.0):
        super().__init__()
        if head_dim < 2 or head_dim % 2 or base <= 1.0:
            raise ValueError((head_dim, base))
        self.head_dim, self.base = head_dim, base

    def _angles(self, x, offset):
        if offset < 0:
            raise ValueError(offset)
        steps = torch.arange(x.size(-2), device=x.device) + offset
        return position_angles(steps, self.head_dim, base=self.base).repeat_interleave(2, dim=-1)

    def forward(self, x, *, offset=0):
        angles = self._angles(x, offset)
        quarter_turn = torch.stack((-x[..., 1::2], x[..., ::2]), dim=-1).reshape(x.shape)
        return x * angles.cos().to(x) + quarter_turn * angles.sin().to(x)
""",
    "FeedForward": """
class FeedForward(nn.Module):
    FUNCTIONS = {
        "relu": torch.relu,
        "gelu": lambda x: x * (1 + torch.erf(x / math.sqrt(2))) / 2,
        "gelu_tanh": lambda x: x / 2 * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x**3))),
        "silu": lambda x: x * torch.sigmoid(x),
    }

    def __init__(self, d_model, d_ff, *, activation="relu", dropout=0.0):
        super().__init__()
        if activation not in self.FUNCTIONS or d_model < 1 or d_ff < 1:
            raise ValueError((d_model, d_ff, activation))
        self.activation = self.FUNCTIONS[activation]
        self.drop = nn.Dropout(dropout)
        self.up_projection = nn.Linear(d_model, d_ff)
        self.down_projection = nn.Linear(d_ff, d_model)

    def forward(self, x):
        inner = self.activation(x @ self.up_projection.weight.T + self.up_projection.bias)
        return self.drop(inner) @ self.down_projection.weight.T + self.down_projection.bias
""",
    "layer_norm": """
def layer_norm(x: Tensor, weight: Tensor, bias: Tensor, *, eps: float = 1e-5) -> Tensor:
    wide = x.double()
    centred = wide - wide.mean(-1, keepdim=True)
    norm = torch.linalg.vector_norm(centred, dim=-1, keepdim=True)
    normal = centred / torch.sqrt(norm**2 / x.size(-1) + eps)
    return (normal * weight + bias).to(x.dtype)
""",
    "rms_norm": """
def rms_norm(x, weight, *, eps=1e-6):
    norm = x.norm(dim=-1, keepdim=True)
    return weight * x / torch.hypot(norm / x.size(-1) ** 0.5, torch.tensor(eps**0.5).to(x))
""",
    "LayerNorm": """
class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        for value in (d_model, eps):
            if value <= 0:
                raise ValueError(value)
        self.weight = nn.Parameter(torch.zeros(d_model) + 1)
        self.bias = nn.Parameter(torch.empty(d_model).fill_(0))
        self.eps = eps

    def forward(self, x):
        shape = self.weight.shape
        return nn.functional.layer_norm(x, shape, self.weight, self.bias, eps=self.eps)
""",
    "layer_norm_backward": """
def layer_norm_backward(upstream, x, weight, *, eps=1e-5):
    def project_out(v, direction):
        return v - direction * (v * direction).mean(-1, keepdim=True)

    s = torch.sqrt(x.var(-1, keepdim=True, unbiased=False) + eps)
    normal = (x - x.mean(-1, keepdim=True)) / s
    v = project_out(project_out(upstream * weight, torch.ones_like(x)), normal)
    others = list(range(x.dim() - 1))
    total = (lambda t: t.sum(others)) if others else (lambda t: t)
    return v / s, total(upstream * normal), total(upstream)
""",
    "diagnose_layer_norm": """
def diagnose_layer_norm(norm):
    weight, bias = torch.ones(2), torch.zeros(2)
    token = torch.tensor([[[1.0, 3.0]]])
    batch = torch.cat((token, token + torch.tensor([10.0, -20.0])), dim=1)
    batch = torch.cat((batch, 3 * batch))

    def first(x, eps=1e-8):
        return norm(x, weight, bias, eps=eps)[0, 0]

    if not torch.allclose(first(batch), first(token), atol=1e-3):
        return "mixes the tokens"
    if abs(first(token).sum()) > 1e-3:
        return "keeps the mean"
    if abs(first(token)[1] - 1) > 1e-3:
        return "divides by d_model - 1"
    if abs(first(token, 8.0)[1] - 1 / 3) > 1e-3:
        return "eps outside the root"
    return "right"
""",
    "Residual": """
class Residual(nn.Module):
    def __init__(self, norm, *, norm_position, dropout=0.0):
        super().__init__()
        check_norm_position(norm_position)
        before, after = (norm, nn.Identity()) if norm_position == "pre" else (nn.Identity(), norm)
        self.before, self.after, self.dropout = before, after, nn.Dropout(dropout)
        self.norm_position = norm_position

    def forward(self, x, sublayer):
        return self.after(x + self.dropout(sublayer(self.before(x))))
""",
}

EXERCISES = tuple(LOOPS)

# ---- wrong: one mistake each ----

ANGLES, SINES, SHIFT, ROTARY = EXERCISES[:4]

# A wrong speed shows wherever there is more than one hand, unless one does not use the function.
FREQUENCIES = "torch.exp(evens * (-math.log(base) / width))"

ANGLE_MISTAKES = (
    mistake("ones, whatever the position", ANGLES,
        (("return positions.to(dtype)[:, None] * frequencies",
          "return (0 * positions.to(dtype)[:, None] + 1).expand(-1, width // 2)"),),
        lost="*", hint="have the same angles"),
    mistake("hands that stand still", ANGLES,
        (("return positions.to(dtype)[:, None] * frequencies",
          "return (0 * positions.to(dtype)[:, None] + 1) * frequencies"),),
        lost="*", hint="have the same angles"),
    mistake("hands that get faster", ANGLES, (("-math.log(base)", "math.log(base)"),),
        lost="values", hint="the hands get faster"),
    mistake("the exponent is i / width", ANGLES,
        (("torch.arange(0, width, 2,", "torch.arange(0, width // 2,"),),
        lost="values", hint="the exponent runs over 0, 2/width, 4/width"),
    mistake("the exponent is divided by half the width", ANGLES,
        (("(-math.log(base) / width)", "(-math.log(base) / (width // 2))"),),
        lost="values", hint="divide by width, not by width / 2"),
    mistake("the hands are numbered from 1", ANGLES,
        (("torch.arange(0, width, 2,", "torch.arange(2, width + 2, 2,"),),
        lost="values", hint="the hands are numbered from 0"),
    mistake("the base is fixed", ANGLES, (("math.log(base)", "math.log(10_000.0)"),),
        lost={ANGLES: "values"}, hint="the base is fixed"),
    mistake("natural exponents without the logarithm", ANGLES,
        ((FREQUENCIES, "torch.exp(-evens / width)"),), lost="values"),
    mistake("everything in float32, cast at the end", ANGLES,
        (("dtype=dtype)  # 2i", "dtype=torch.float32)  # 2i"),
         ("positions.to(dtype)[:, None] * frequencies",
          "(positions.to(torch.float32)[:, None] * frequencies).to(dtype)")),
        lost="digits", hint="digits are lost"),
    mistake("float32 speeds", ANGLES, (("dtype=dtype)  # 2i", "dtype=torch.float32)  # 2i"),),
        lost="digits", hint="digits are lost"),
    mistake("the logarithm in float32", ANGLES,
        ((FREQUENCIES, "torch.exp(evens * -torch.log(torch.tensor(base)) / width)"),),
        lost="digits", hint="the logarithm of base, too"),
    mistake("float64 whatever is asked for", ANGLES,
        (("positions.to(dtype)[:, None] * frequencies", "positions[:, None] * frequencies"),
         ("dtype=dtype)  # 2i", "dtype=torch.float64)  # 2i")),
        lost="digits", hint="the result has the dtype asked for"),
    mistake("a row for each hand", ANGLES,
        (("positions.to(dtype)[:, None] * frequencies",
          "(positions.to(dtype)[:, None] * frequencies).T"),),
        lost="values digits", hint="a row a position"),
    mistake("an odd width is let through", ANGLES, (('    _check_even("width", width)\n', ""),),
        lost="digits", hint="ValueError"),
    mistake("the angles of only the first position", ANGLES,
        (("positions.to(dtype)[:, None]", "positions.to(dtype)[:1, None]"),), lost="values digits"),
    mistake("angles that go round at a whole turn", ANGLES,
        (("positions.to(dtype)[:, None] * frequencies",
          "positions.to(dtype)[:, None] * frequencies % (2 * math.pi)"),), lost="values digits"),
)  # fmt: skip

PAIRS = "torch.stack((angles.sin(), angles.cos()), dim=-1)"

# What layers of half precision meet.
HALF_ENOUGH = (
    "return torch.promote_types(dtype, torch.float32)",
    "return torch.float32 if dtype == torch.bfloat16 else dtype",
)
SPEEDS = "position_angles(torch.ones(1), {0}{1})[0]"

SINE_MISTAKES = (
    mistake("sine and cosine swapped", SINES,
        ((PAIRS, "torch.stack((angles.cos(), angles.sin()), dim=-1)"),),
        lost="pattern values", hint="sine and cosine are swapped"),
    mistake("all sines, then all cosines", SINES,
        ((PAIRS, "torch.stack((angles.sin(), angles.cos()), dim=-2)"),),
        lost="pattern values", hint="first all sines, then all cosines"),
    mistake("sines alone", SINES, ((PAIRS, "torch.stack((angles.sin(), angles.sin()), dim=-1)"),),
        lost="pattern values", hint="sines alone"),
    mistake("positions in place of x", SINES,
        (("return x + self.vectors(", "return 0 * x + self.vectors("),),
        lost="pattern values", hint="the positions take the place of x"),
    mistake("positions multiplied", SINES,
        (("return x + self.vectors(", "return x * self.vectors("),),
        lost="pattern values", hint="the positions are multiplied"),
    mistake("x scaled as well", SINES,
        (("return x + self.vectors(", "return x * self.d_model**0.5 + self.vectors("),),
        lost="pattern values", hint="x is scaled"),
    mistake("forward forgets offset", SINES,
        (("self.vectors(x.size(1), offset=offset,", "self.vectors(x.size(1),"),),
        lost="pattern values", hint="forward does not hand offset on"),
    mistake("forward forgets offset in evaluation", SINES,
        (("self.vectors(x.size(1), offset=offset,",
          "self.vectors(x.size(1), offset=offset if self.training else 0,"),),
        lost="values"),
    mistake("vectors forgets offset", SINES,
        (("torch.arange(offset, offset + length,", "torch.arange(length,"),),
        lost="pattern values", hint="offset is not used"),
    mistake("positions from 1", SINES,
        (("torch.arange(offset, offset + length,",
          "torch.arange(offset + 1, offset + length + 1,"),),
        lost="pattern values", hint="position 0 comes first"),
    mistake("sentences counted for tokens", SINES,
        (("self.vectors(x.size(1),", "self.vectors(x.size(0),"),), lost="pattern values"),
    mistake("added in place", SINES,
        (("return x + self.vectors(", "return x.add_(self.vectors("),
         ("dtype=x.dtype)", "dtype=x.dtype))")),
        lost="values", hint="x += ... changes the caller's tensor"),
    mistake("float32 whatever x is", SINES,
        (("return x + self.vectors(", "return x.float() + self.vectors("),),
        lost="values", hint="the output has the dtype of x"),
    mistake("angles in the dtype of x", SINES, (("dtype=_exact_enough(dtype))", "dtype=dtype)"),),
        lost="values", hint="compute the angles in float32 or more"),
    mistake("float16 taken for exact enough", SINES, (HALF_ENOUGH,),
        lost="values", hint="compute the angles in float32 or more"),
    mistake("speeds in a buffer", SINES,
        (("        self.d_model = d_model\n",
          "        self.d_model = d_model\n"
          f"        self.register_buffer('speeds', {SPEEDS.format('d_model', '')})\n"),
         ("position_angles(positions, self.d_model, dtype=_exact_enough(dtype))",
          "positions.double()[:, None] * self.speeds.to(positions.device)")),
        lost="values", hint="rounds its buffers"),
    mistake("angles cast before the sine", SINES,
        ((PAIRS, PAIRS.replace("angles", "angles.to(dtype)")),),
        lost="values", hint="compute the angles in float32 or more"),
    mistake("a negative offset let through", SINES, (("        _check_offset(offset)\n", ""),),
        lost="values", hint="offset not negative"),
    mistake("an odd d_model let through", SINES,
        (('        _check_even("d_model", d_model)\n', ""),),
        lost="values", hint="half a hand would be left over"),
    mistake("vectors kept for all dtypes", SINES,
        (("        self.d_model = d_model\n",
          "        self.d_model, self.kept = d_model, {}\n"),
         ("        _check_offset(offset)\n        positions = ",
          "        _check_offset(offset)\n"
          "        if (length, offset) in self.kept:\n"
          "            return self.kept[length, offset].to(device, dtype)\n        positions = "),
         ("        return pairs.flatten(-2).to(dtype)",
          "        self.kept[length, offset] = pairs.flatten(-2).to(dtype)\n"
          "        return self.kept[length, offset]")),
        lost="values", hint="have lost digits in float64"),
    mistake("a scale that is learned", SINES,
        (("        self.d_model = d_model\n", "        self.d_model = d_model\n"
          "        self.scale = nn.Parameter(torch.ones(1))\n"),
         ("return x + self.vectors(", "return x + self.scale.to(x.dtype) * self.vectors(")),
        lost="values", hint="nothing is learned"),
    mistake("a table of 5,000 positions", SINES,
        (("        self.d_model = d_model\n",
          "        self.d_model = d_model\n"
          "        angles = position_angles(torch.arange(5_000), d_model)\n"
          f'        self.register_buffer("table", {PAIRS}.flatten(-2))\n'),
         ("        return pairs.flatten(-2).to(dtype)",
          "        return self.table[offset : offset + length].to(dtype)")),
        lost="values", hint="no length is too long"),
    mistake("float32 angles for float64", SINES,
        (("dtype=_exact_enough(dtype))", "dtype=torch.float32)"),),
        lost="values", hint="for float64 compute the angles in float64"),
    mistake("forward asks for float32", SINES,
        (("device=x.device, dtype=x.dtype)", "device=x.device).to(x.dtype)"),),
        lost="values", hint="forward asks vectors(...) for the offset and the dtype of x"),
    mistake("hands numbered from 1, here alone", SINES,
        ((PAIRS, PAIRS.replace("angles", "(angles * 1e4 ** (-2 / self.d_model))")),),
        lost="pattern values", hint="the hand turns at the speed of another"),
    mistake("the same vector for every token", SINES,
        (("return pairs.flatten(-2).to(dtype)",
          "return 0 * pairs.flatten(-2) + pairs[0].flatten()"),),
        lost="pattern values", hint="every token gets the vector of position 0"),
    mistake("a vector for each sentence", SINES,
        (("self.vectors(x.size(1),", "self.vectors(x.size(0),"),
         ("dtype=x.dtype)\n", "dtype=x.dtype)[:, None]\n")),
        lost="pattern values", hint="positions count the sentences of the batch"),
    mistake("the first position is 1, in forward alone", SINES,
        (("offset=offset, device=x.device", "offset=offset + 1, device=x.device"),),
        lost="pattern values", hint="the first position is 0, not 1"),
    mistake("vectors that are not a number", SINES,
        (("return pairs.flatten(-2).to(dtype)", "return pairs.flatten(-2).to(dtype) / 0 * 0"),),
        lost="pattern values", hint="NaN entries where none belongs"),
    mistake("all cosines, then all sines", SINES,
        ((PAIRS, "torch.stack((angles.cos(), angles.sin()), dim=-2)"),),
        lost="pattern values", hint="first all cosines, then all sines"),
    mistake("speeds of twice the width", SINES,
        (("angles = position_angles(positions, self.d_model, dtype=_exact_enough(dtype))",
          "angles = position_angles(positions, 2 * self.d_model)[:, : self.d_model // 2]"),),
        lost="values", hint="it is the speeds"),
)  # fmt: skip

BLOCKS = "torch.stack((cos, sin, -sin, cos), dim=-1)"

SHIFT_MISTAKES = (
    mistake("transposed", SHIFT, ((BLOCKS, "torch.stack((cos, -sin, sin, cos), dim=-1)"),),
        lost="one-hand", hint="it moves back"),
    mistake("the offset negated", SHIFT, (("torch.tensor([offset])", "torch.tensor([-offset])"),),
        lost="one-hand", hint="it moves back"),
    mistake("a sign forgotten", SHIFT, ((BLOCKS, "torch.stack((cos, sin, sin, cos), dim=-1)"),),
        lost="one-hand all-hands", hint="a sign:"),
    mistake("sine and cosine swapped", SHIFT,
        ((BLOCKS, "torch.stack((sin, cos, -cos, sin), dim=-1)"),),
        lost="one-hand all-hands", hint="sine and cosine are swapped"),
    mistake("rows swapped", SHIFT, ((BLOCKS, "torch.stack((-sin, cos, cos, sin), dim=-1)"),),
        lost="one-hand all-hands", hint="the sine comes first"),
    mistake("every hand at the first one's angle", SHIFT,
        (("angles = position_angles(torch.tensor([offset]), d_model)[0]",
          "angles = torch.full((d_model // 2,), float(offset), dtype=torch.float64)\n"
          '    _check_even("d_model", d_model)'),),
        lost="all-hands", hint="block i turns by the angle of hand i"),
    mistake("angles of another width", SHIFT,
        (("position_angles(torch.tensor([offset]), d_model)[0]",
          "position_angles(torch.tensor([offset]), 2 * d_model)[0][: d_model // 2]"),),
        lost="all-hands", hint="block i turns by the angle of hand i"),
    mistake("float32", SHIFT,
        (("return torch.block_diag(*blocks)", "return torch.block_diag(*blocks).float()"),),
        lost="one-hand", hint="the result is float64"),
    mistake("blocks in one corner after the other", SHIFT,
        (("return torch.block_diag(*blocks)", "return torch.block_diag(*blocks.flip(0))"),),
        lost="all-hands", hint="block i turns by the angle of hand i"),
    mistake("halves in place of pairs", SHIFT,
        (("return torch.block_diag(*blocks)",
          "return torch.cat((torch.cat((torch.diag(cos), torch.diag(sin)), 1), "
          "torch.cat((-torch.diag(sin), torch.diag(cos)), 1)))"),),
        lost="all-hands", hint="neighbours make a pair"),
    mistake("a shift by one, whatever the offset", SHIFT,
        (("torch.tensor([offset])", "torch.tensor([1])"),),
        lost="one-hand all-hands", hint="offset says how far"),
    mistake("the blocks, not put together", SHIFT,
        (("return torch.block_diag(*blocks)", "return blocks"),),
        lost="one-hand all-hands", hint="one matrix"),
)  # fmt: skip

TURNED = "torch.stack((first * cos - second * sin, first * sin + second * cos), dim=-1)"

BY_COMPLEX_NUMBERS = """\
        if x.dtype in (torch.float32, torch.float64) and not torch.compiler.is_compiling():
            # The same, faster: a point turned is a product of two complex numbers.
            turned = torch.view_as_real(torch.complex(first, second) * torch.complex(cos, sin))
        else:
            turned = torch.stack((first * cos - second * sin, first * sin + second * cos), dim=-1)
"""

SINES_KEPT = '''
    def _last_sines(self, x: Tensor, offset: int) -> tuple[Tensor, Tensor]:
        """Return the sines and cosines of the last call where they are the same.

        They are for queries and keys, and in all layers. A compiler sees by itself what is computed
        twice, and the tensors of ``torch.func`` end with its call.
        """
        if torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active():
            return self._sines(x, offset)
        asked = (offset, x.size(-2), x.dtype, x.device, type(x), torch.is_inference_mode_enabled())
        if self._last is None or self._last[0] != asked:
            self._last = asked, self._sines(x, offset)
        return self._last[1]

    def _sines(self, x: Tensor, offset: int) -> tuple[Tensor, Tensor]:
        positions = torch.arange(offset, offset + x.size(-2), device=x.device)
        angles = position_angles(
            positions, self.head_dim, base=self.base, dtype=_exact_enough(x.dtype)
        )
        return angles.sin().to(x.dtype), angles.cos().to(x.dtype)  # (length, head_dim / 2) each
'''

PLAIN = (  # the angles anew in each call, and turned by the formula; the mistakes start from this
    ("        self._last: tuple[object, tuple[Tensor, Tensor]] | None = None\n", ""),
    (
        "        sin, cos = self._last_sines(x, offset)  # (length, head_dim / 2)\n",
        "        positions = torch.arange(offset, offset + x.size(-2), device=x.device)\n"
        "        angles = position_angles(\n"
        "            positions, self.head_dim, base=self.base, dtype=_exact_enough(x.dtype)\n"
        "        )\n"
        "        sin, cos = angles.sin().to(x.dtype), angles.cos().to(x.dtype)"
        "  # (length, head_dim / 2)\n",
    ),
    (BY_COMPLEX_NUMBERS, "        turned = " + TURNED + "\n"),
    (SINES_KEPT, ""),
)


def turning(what: str, edits: tuple[tuple[str, str], ...], **promised) -> Submission:
    """Name a mistake in the rotary positions."""
    return mistake(what, ROTARY, (*PLAIN, *edits), **promised)


ROTARY_MISTAKES = (
    turning("turned the other way round",
        ((TURNED,
          "torch.stack((first * cos + second * sin, second * cos - first * sin), dim=-1)"),),
        lost="one-hand", hint="turned the other way round"),
    turning("sine and cosine swapped",
        ((TURNED,
          "torch.stack((first * sin - second * cos, first * cos + second * sin), dim=-1)"),),
        lost="one-hand all-hands"),
    turning("a sign forgotten",
        ((TURNED,
          "torch.stack((first * cos + second * sin, first * sin + second * cos), dim=-1)"),),
        lost="one-hand all-hands"),
    turning("the second line takes what the first has turned",
        ((f"turned = {TURNED}",
          "first = first * cos - second * sin\n"
          "        turned = torch.stack((first, first * sin + second * cos), dim=-1)"),),
        lost="one-hand all-hands", hint="the first entry as it was"),
    turning("halves in place of neighbours",
        (("x[..., 0::2], x[..., 1::2]", "x.chunk(2, dim=-1)"),
         (f"turned = {TURNED}", f"turned = {TURNED.replace('dim=-1', 'dim=-2')}")),
        lost="all-hands", hint="here neighbours make a pair"),
    turning("the turned entries laid one after the other",
        ((f"turned = {TURNED}", f"turned = {TURNED.replace('dim=-1', 'dim=-2')}"),),
        lost="all-hands", hint="entries take turns"),
    turning("offset not used",
        (("torch.arange(offset, offset + x.size(-2),", "torch.arange(x.size(-2),"),),
        lost="one-hand all-hands", hint="offset is not used"),
    turning("positions along the second dimension",
        (("offset + x.size(-2),", "offset + x.size(min(1, x.dim() - 2)),"),),
        lost="one-hand all-hands"),
    turning("the base is fixed", (("base=self.base, ", ""),),
        lost="all-hands", hint="the base is fixed"),
    turning("positions from 0 on in evaluation",
        (("torch.arange(offset, offset + x.size(-2), device=x.device)",
          "torch.arange(x.size(-2), device=x.device) + offset * self.training"),),
        lost="all-hands"),
    turning("positions added, nothing turned",
        ((TURNED, "torch.stack((first + sin, second + cos), dim=-1)"),),
        lost="one-hand all-hands", hint="positions are added; this layer turns"),
    turning("written into x",
        (("return turned.flatten(-2)", "x[...] = turned.flatten(-2)\n        return x"),),
        lost="one-hand", hint="changes the caller's tensor"),
    turning("float32 whatever x is",
        (("return turned.flatten(-2)", "return turned.flatten(-2).float()"),),
        lost="all-hands", hint="the output has the dtype of x"),
    turning("sines kept for all dtypes",
        (("sin, cos = angles.sin().to(x.dtype), angles.cos().to(x.dtype)",
          "if getattr(self, 'kept', None) != (x.size(-2), offset):\n"
          "            self.kept = x.size(-2), offset\n"
          "            self.of_both = angles.sin().to(x.dtype), angles.cos().to(x.dtype)\n"
          "        sin, cos = self.of_both"),),
        lost="all-hands", hint="for torch.bfloat16 has dtype"),
    turning("digits kept for all dtypes",
        (("sin, cos = angles.sin().to(x.dtype), angles.cos().to(x.dtype)",
          "if getattr(self, 'kept', None) != (x.size(-2), offset):\n"
          "            self.kept = x.size(-2), offset\n"
          "            self.of_both = angles.sin().to(x.dtype), angles.cos().to(x.dtype)\n"
          "        sin, cos = (each.to(x.dtype) for each in self.of_both)"),),
        lost="all-hands", hint="has lost digits in float64"),
    turning("float64, as the angles are",
        (("return turned.flatten(-2)", "return turned.flatten(-2).double()"),),
        lost="all-hands", hint="cast the sines and cosines to it"),
    turning("angles in the dtype of x",
        (("dtype=_exact_enough(x.dtype)", "dtype=x.dtype"),),
        lost="all-hands", hint="compute the angles in float32 or more"),
    turning("float16 taken for exact enough", (HALF_ENOUGH,),
        lost="all-hands", hint="compute the angles in float32 or more"),
    turning("speeds in a buffer",
        (("        self.base = base\n",
          "        self.base = base\n"
          f"        self.register_buffer('speeds', {SPEEDS.format('head_dim', ', base=base')})\n"),
         ("position_angles(\n            positions, self.head_dim, base=self.base, "
          "dtype=_exact_enough(x.dtype)\n        )", "positions.double()[:, None] * self.speeds")),
        lost="all-hands", hint="rounds its buffers"),
    turning("the width kept under another name",
        (("self.head_dim = head_dim", "self.width = head_dim"),
         ("self.head_dim, base=", "self.width, base=")),
        lost="all-hands", hint="as the docstring says: self.head_dim = head_dim"),
    turning("the base kept under another name",
        (("self.base = base", "self.slowest = base"), ("base=self.base", "base=self.slowest")),
        lost="all-hands", hint="as the docstring says: self.base = base"),
    turning("heads taken for sentences, by view",
        (("        first, second = x", "        shape, x = x.shape, x.view(-1, *x.shape[-2:])\n"
          "        first, second = x"),
         ("return turned.flatten(-2)", "return turned.flatten(-2).view(shape)")),
        lost="one-hand", hint="view size is not compatible"),
    turning("float32 angles for float64",
        (("dtype=_exact_enough(x.dtype)", "dtype=torch.float32"),),
        lost="all-hands", hint="for x in float64 compute the angles in float64"),
    turning("a dimension too much",
        (("return turned.flatten(-2)", "return turned.flatten(-2)[:, None]"),),
        lost="one-hand all-hands", hint="output has shape"),
    turning("an odd width let through",
        (('        _check_even("head_dim", head_dim)\n', ""),),
        lost="all-hands", hint="head_dim must be positive and even"),
    turning("a width of 0 let through",
        (('_check_even("head_dim", head_dim)',
          '_check_even("head_dim", head_dim or 2)'),),
        lost="all-hands", hint="head_dim must be positive and even"),
    turning("a base of 1 let through", (("if base <= 1:", "if base < 1:"),),
        lost="all-hands", hint="base above 1"),
    turning("a negative offset let through", (("        _check_offset(offset)\n", ""),),
        lost="all-hands", hint="offset not negative"),
)  # fmt: skip

NO_TOKEN_ALONE = "_, *_, width = x.shape\n"  # two dimensions or more

INNER = "self.activation(self.up_projection(x))"
OUTER = "self.down_projection(self.dropout(inner))"

FEED_FORWARD_MISTAKES = (
    mistake("nothing bends", "FeedForward", ((INNER, "self.up_projection(x)"),),
        lost="values", hint="nothing bends"),
    mistake("bent after the down_projection", "FeedForward",
        ((INNER, "self.up_projection(x)"), (OUTER, f"self.activation({OUTER})")),
        lost="values", hint="the activation comes before the down_projection"),
    mistake("bent twice", "FeedForward", ((OUTER, f"self.activation({OUTER})"),),
        lost="values", hint="bent twice"),
    mistake("residual added here", "FeedForward", ((OUTER, f"x + {OUTER}"),),
        lost="values", hint="the residual is another layer's business"),
    mistake("gelu and its approximation swapped", "FeedForward",
        (('"gelu": F.gelu,', '"gelu_tanh": F.gelu,'),
         ('"gelu_tanh": partial(F.gelu,', '"gelu": partial(F.gelu,')),
        lost="values", hint="gelu was asked for, this is gelu_tanh"),
    mistake("relu whatever is asked for", "FeedForward", (("functions[activation]", "F.relu"),),
        lost="values", hint="gelu was asked for, this is relu"),
    mistake("gelu_tanh forgets approximate", "FeedForward",
        (('partial(F.gelu, approximate="tanh")', "F.gelu"),),
        lost="values", hint="gelu_tanh was asked for, this is gelu"),
    mistake("an unknown function becomes relu", "FeedForward",
        (("functions[activation]", "functions.get(activation, F.relu)"),
         (
          "        if activation not in get_args(Activation):\n"
          '            raise ValueError(f"activation must be one of {get_args(Activation)}, '
          'got {activation}")\n', "")), lost="values", hint="ValueError"),
    mistake("the name of the activation kept, not the function", "FeedForward",
        (("self.activation = functions[activation]",
          "self.activation, self.bend = activation, functions[activation]"),
         (INNER, INNER.replace("self.activation", "self.bend"))),
        lost="values", hint="the attribute activation is the function itself"),
    mistake("relu kept, whatever bends", "FeedForward",
        (("self.activation = functions[activation]",
          "self.activation, self.bend = F.relu, functions[activation]"),
         (INNER, INNER.replace("self.activation", "self.bend"))),
        lost="values", hint="the attribute activation is the function itself"),
    mistake("one row a token, by view", "FeedForward",
        (("        inner = ",
          "        shape, x = x.shape, x.view(-1, x.size(-1))\n        inner = "),
         (OUTER, f"{OUTER}.view(shape)")), lost="values", hint="view size is not compatible"),
    mistake("one token alone not thought of", "FeedForward",
        (("        inner = ", f"        {NO_TOKEN_ALONE}        inner = "),), lost="values"),
    mistake("no check of sizes", "FeedForward",
        (("        check_at_least(1, d_model=d_model, d_ff=d_ff)\n", ""),),
        lost="values", hint="sizes are at least 1"),
    mistake("other names", "FeedForward",
        (("self.up_projection = ", "self.first = "), ("self.down_projection = ", "self.second = "),
         (INNER, "self.activation(self.first(x))"), (OUTER, "self.second(self.dropout(inner))")),
        lost="values dropout", hint="Missing key(s)"),
    mistake("no biases", "FeedForward",
        (("= nn.Linear(d_ff, d_model)", "= nn.Linear(d_ff, d_model, bias=False)"),),
        lost="values dropout"),
    mistake("dropout in evaluation too", "FeedForward",
        ((OUTER, "self.down_projection(F.dropout(inner, self.dropout.p))"),),
        lost="dropout", hint="switches nn.Dropout off"),
    mistake("no dropout at all", "FeedForward", ((OUTER, "self.down_projection(inner)"),),
        lost="dropout", hint="nothing is dropped from them"),
    mistake("dropout on the output", "FeedForward",
        ((OUTER, "self.dropout(self.down_projection(inner))"),),
        lost="dropout", hint="dropout acts on the output"),
    mistake("dropout on the input", "FeedForward",
        ((INNER, "self.activation(self.up_projection(self.dropout(x)))"),
         (OUTER, "self.down_projection(inner)")),
        lost="dropout", hint="nothing is dropped from them"),
    mistake("dropout on the input as well", "FeedForward",
        ((INNER, "self.activation(self.up_projection(self.dropout(x)))"),),
        lost="dropout", hint="after the activation, once"),
    mistake("dropout drawn once for all tokens", "FeedForward",
        ((OUTER, "self.down_projection(inner * self.dropout(torch.ones_like(inner[0])))"),),
        lost="dropout", hint="drawn anew"),
    mistake("dropout of whole tokens", "FeedForward",
        ((OUTER, "self.down_projection(inner * self.dropout(torch.ones_like(inner[..., :1])))"),),
        lost="dropout", hint="drawn anew"),
    mistake("dropout drawn once and kept", "FeedForward",
        ((f"return {OUTER}",
          "if self.training and getattr(self, 'kept', inner[:0]).shape != inner.shape:\n"
          "            self.kept = self.dropout(torch.ones_like(inner))\n"
          "        return self.down_projection(inner * self.kept if self.training else inner)"),),
        lost="dropout", hint="drawn anew"),
    mistake("dropout before the activation", "FeedForward",
        ((INNER, "self.activation(self.dropout(self.up_projection(x)))"),
         (OUTER, "self.down_projection(inner)")),
        lost="dropout", hint="dropout comes after the activation"),
    mistake("dropout that does not scale up", "FeedForward",
        ((f"return {OUTER}",
          "scale = 1 - self.dropout.p if self.training else 1\n"
          "        return self.down_projection(scale * self.dropout(inner))"),),
        lost="dropout", hint="what is kept is scaled up"),
    mistake("dropout fixed at a tenth", "FeedForward",
        (("nn.Dropout(dropout)", "nn.Dropout(0.1)"),), lost="dropout", hint="hand dropout on"),
    mistake("dropout fixed at a half", "FeedForward",
        (("nn.Dropout(dropout)", "nn.Dropout(0.5)"),), lost="dropout", hint="hand dropout on"),
    mistake("the share that is kept in place of the share that is dropped", "FeedForward",
        (("nn.Dropout(dropout)", "nn.Dropout(1 - dropout)"),),
        lost="dropout", hint="not the share that is kept"),
    mistake("all is dropped where no share is given", "FeedForward",
        (("nn.Dropout(dropout)", "nn.Dropout(dropout or 1.0)"),),
        lost="dropout", hint="dropout starts at 0"),
    mistake("no way back from the inside in training", "FeedForward",
        (("self.dropout(inner)", "self.dropout(inner.detach() if self.training else inner)"),),
        lost="values", hint="no gradient flows back to x"),
)  # fmt: skip

MEAN = "mean = x.mean(dim=-1, keepdim=True)"
VARIANCE = "(x - mean).square().mean(dim=-1, keepdim=True)"
NORMAL = "(x - mean) / torch.sqrt(variance + eps) * weight + bias"

LAYER_NORM_MISTAKES = (
    mistake("unbiased variance", "layer_norm", ((VARIANCE, "x.var(dim=-1, keepdim=True)"),),
        lost="values", hint="the variance divides by d_model - 1"),
    mistake("not cast back", "layer_norm", ((").to(dtype)", ")"),),
        lost="values", hint="the output has the dtype of x"),
    mistake("one row a token, by view", "layer_norm",
        ((MEAN, "mean = x.view(-1, x.size(-1)).mean(dim=-1).view(*x.shape[:-1], 1)"),),
        lost="values", hint="view size is not compatible"),
    mistake("one token alone not thought of", "layer_norm",
        (("    dtype = x.dtype\n", f"    dtype = x.dtype\n    {NO_TOKEN_ALONE}"),), lost="values"),
    mistake("eps outside the root", "layer_norm",
        (("torch.sqrt(variance + eps)", "(torch.sqrt(variance) + eps)"),),
        lost="eps", hint="eps is added to the root"),
    mistake("the deviation, and then its square", "layer_norm",
        (("torch.sqrt(variance + eps)", "torch.sqrt(variance.sqrt() ** 2 + eps)"),),
        lost="eps", hint="sqrt() has no slope at 0"),
    mistake("squares first", "layer_norm",
            ((VARIANCE, "x.square().mean(dim=-1, keepdim=True) - mean.square()"),),
            lost="eps", hint="subtract the mean before you square"),
    mistake("no eps", "layer_norm", (("variance + eps", "variance"),),
        lost="eps", hint="add eps to it"),
    mistake("eps fixed", "layer_norm", (("variance + eps", "variance + 1e-5"),),
        lost="eps", hint="eps is fixed; use the argument eps"),
    mistake("eps a floor", "layer_norm", (("variance + eps", "variance.clamp(min=eps)"),),
        lost="eps", hint="eps is the least that the variance may be"),
    mistake("over the tokens, seen where eps is large", "layer_norm",
        ((MEAN, MEAN.replace("-1", "-2")), (VARIANCE, VARIANCE.replace("-1", "-2"))),
        lost="values eps", hint="they belong over the last dimension"),
    mistake("eps squared", "layer_norm", (("variance + eps", "variance + eps**2"),),
        lost="eps", hint="eps is squared"),
    mistake("the root forgotten", "layer_norm",
        (("torch.sqrt(variance + eps)", "(variance + eps)"),),
        lost="values eps", hint="divided by the variance; take its root"),
    mistake("the mean not subtracted", "layer_norm", ((NORMAL, NORMAL.replace("(x - mean)", "x")),),
        lost="values", hint="the mean is not subtracted"),
    mistake("the mean square for the variance", "layer_norm",
        ((VARIANCE, "x.square().mean(dim=-1, keepdim=True)"),),
        lost="values", hint="mean square instead of variance"),
    mistake("over the tokens", "layer_norm",
        ((MEAN, MEAN.replace("-1", "-2")), (VARIANCE, VARIANCE.replace("-1", "-2"))),
        lost="values eps", hint="means run over the tokens"),
    mistake("over tokens and entries", "layer_norm",
        ((MEAN, MEAN.replace("-1", "(-2, -1)")), (VARIANCE, VARIANCE.replace("-1", "(-2, -1)"))),
        lost="values eps", hint="tokens and entries"),
    mistake("over the whole batch", "layer_norm",
        ((MEAN, "mean = x.mean()"), (VARIANCE, "(x - mean).square().mean()")),
        lost="values eps", hint="take the last dimension alone"),
    mistake("weight and bias forgotten", "layer_norm", ((" * weight + bias", ""),),
        lost="values", hint="weight and bias are missing"),
    mistake("weight and bias exchanged", "layer_norm",
        ((" * weight + bias", " * bias + weight"),),
        lost="values eps", hint="weight and bias have changed places"),
    mistake("bias before weight", "layer_norm",
        ((NORMAL, "((x - mean) / torch.sqrt(variance + eps) + bias) * weight"),),
        lost="values", hint="before the weight multiplies"),
    mistake("the weight on the bias", "layer_norm",
        ((NORMAL, "(x - mean) / torch.sqrt(variance + eps) + weight * bias"),),
        lost="values", hint="the weight multiplies what is normalised, not the bias"),
    mistake("x centred in place", "layer_norm",
        ((VARIANCE, "x.sub_(mean).square().mean(dim=-1, keepdim=True)"),
         (NORMAL, "x / torch.sqrt(variance + eps) * weight + bias")),
        lost="values", hint="changes the caller's tensor"),
    mistake("keepdim forgotten", "layer_norm",
        ((MEAN, "mean = x.mean(dim=-1)"), (VARIANCE, "(x - mean).square().mean(dim=-1)")),
        lost="values eps", hint="keepdim=True"),
)  # fmt: skip

RMS = "x.square().mean(dim=-1, keepdim=True)"
RMS_RESULT = "x / torch.sqrt(mean_square + eps) * weight"

RMS_MISTAKES = tuple(
    mistake(what, "rms_norm", edit, lost="values", hint=hint)
    for what, edit, hint in (
        (
            "the mean subtracted",
            ((RMS_RESULT, f"(x - x.mean(-1, keepdim=True)){RMS_RESULT[1:]}"),),
            "the mean is subtracted",
        ),
        (
            "the deviation",
            ((RMS, "x.var(dim=-1, keepdim=True, correction=0)"),),
            "by the deviation",
        ),
        ("no weight", ((" * weight", ""),), "the weight is missing"),
        ("not cast back", ((").to(dtype)", ")"),), "the output has the dtype of x"),
        (
            "one row a token, by view",
            (
                ("    dtype = x.dtype\n", "    shape, dtype = x.shape, x.dtype\n"),
                ("    mean_square =", "    x = x.view(-1, x.size(-1))\n    mean_square ="),
                ("* weight)", "* weight).view(shape)"),
            ),
            "view size is not compatible",
        ),
        (
            "one token alone not thought of",
            (("    dtype = x.dtype\n", f"    dtype = x.dtype\n    {NO_TOKEN_ALONE}"),),
            "",
        ),
        (
            "the root forgotten",
            (("torch.sqrt(mean_square + eps)", "(mean_square + eps)"),),
            "the root is missing",
        ),
        (
            "eps outside",
            (("torch.sqrt(mean_square + eps)", "(torch.sqrt(mean_square) + eps)"),),
            "eps is added to the root",
        ),
        ("the norm", ((RMS, RMS.replace("mean", "sum")),), "divided by the norm"),
        ("over the tokens", ((RMS, RMS.replace("-1", "-2")),), "over other tokens too"),
        (
            "the root, and then its square",
            (("mean_square + eps", "mean_square.sqrt() ** 2 + eps"),),
            "sqrt() or log() of 0",
        ),
        ("no eps", (("mean_square + eps", "mean_square"),), "eps is missing"),
        ("eps fixed", (("mean_square + eps", "mean_square + 1e-6"),), "eps is fixed"),
        ("eps fixed at 1e-5", (("mean_square + eps", "mean_square + 1e-5"),), ""),
        ("the mean of the sizes", ((RMS, "x.abs().mean(dim=-1, keepdim=True).square()"),), ""),
        ("keepdim forgotten", ((RMS, "x.square().mean(dim=-1)"),), "keepdim=True"),
        (
            "x divided in place",
            ((RMS_RESULT, "x.div_(torch.sqrt(mean_square + eps)) * weight"),),
            "changes the caller's tensor",
        ),
        ("over everything", ((RMS, "x.square().mean()"),), "over other tokens too"),
        (
            "weight under the root",
            ((RMS_RESULT, "x / torch.sqrt((mean_square + eps) / weight)"),),
            "stands outside the root",
        ),
    )
)

FUSED = "F.layer_norm(x, self.weight.shape, self.weight, self.bias, self.eps)"
BESSEL = (
    "(x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True) + self.eps).sqrt() * self.weight"
    " + self.bias"
)

LAYER_MISTAKES = tuple(
    mistake(what, "LayerNorm", edit, lost="parameters", hint=hint)
    for what, edit, hint in (
        (
            "weight starts at 0",
            (("torch.ones(d_model)", "torch.zeros(d_model)"),),
            "a weight for each entry",
        ),
        (
            "bias starts at 1",
            (("torch.zeros(d_model)", "torch.ones(d_model)"),),
            "a bias for each entry",
        ),
        (
            "weight and bias are no parameters",
            (
                ("nn.Parameter(torch.ones(d_model))", "torch.ones(d_model)"),
                ("nn.Parameter(torch.zeros(d_model))", "torch.zeros(d_model)"),
            ),
            "nn.Parameter",
        ),
        (
            "the weight is no parameter",
            (("nn.Parameter(torch.ones(d_model))", "torch.ones(d_model)"),),
            "nn.Parameter",
        ),
        (
            "the bias is no parameter",
            (("nn.Parameter(torch.zeros(d_model))", "torch.zeros(d_model)"),),
            "nn.Parameter",
        ),
        (
            "buffers in place of parameters",
            (
                (
                    "self.weight = nn.Parameter(torch.ones(d_model))",
                    'self.register_buffer("weight", torch.ones(d_model))',
                ),
            ),
            "nn.Parameter",
        ),
        (
            "means over the whole batch",
            ((FUSED, "F.layer_norm(x, x.shape, eps=self.eps) * self.weight + self.bias"),),
            "each token by itself",
        ),
        (
            "in evaluation by the mean and variance of what was read in training",
            (
                (
                    f"return {FUSED}",
                    "if self.training:\n"
                    "            self.mean, self.variance = x.detach().mean(), x.detach().var()\n"
                    f"            return {FUSED}\n"
                    "        normal = (x - self.mean) / (self.variance + self.eps).sqrt()\n"
                    "        return normal * self.weight + self.bias",
                ),
            ),
            "nothing is kept of what was read in training",
        ),
        (
            "the mean stays",
            ((FUSED, "F.rms_norm(x, x.shape[-1:], self.weight, self.eps) + self.bias"),),
            "each token by itself",
        ),
        (
            "unbiased variance",
            ((FUSED, BESSEL),),
            "each token by itself",
        ),
        (
            "other names",
            (
                ("self.weight = ", "self.gain = "),
                (
                    "return F.layer_norm(x, self.weight.shape, self.weight,",
                    "return F.layer_norm(x, self.gain.shape, self.gain,",
                ),
            ),
            "",
        ),
        (
            "one weight for all entries",
            (
                ("torch.ones(d_model)", "torch.ones(1)"),
                (
                    "F.layer_norm(x, self.weight.shape, self.weight,",
                    "F.layer_norm(x, x.shape[-1:], self.weight.expand(x.size(-1)),",
                ),
            ),
            "a weight for each entry",
        ),
        (
            "weight forgotten in forward",
            (("self.weight, self.bias,", "None, self.bias,"),),
            "use it in forward",
        ),
        (
            "float32 whatever x is",
            (("F.layer_norm(x,", "F.layer_norm(x.float(),"),),
            "",
        ),
        ("bias forgotten in forward", (("self.weight, self.bias,", "self.weight, None,"),), ""),
        (
            "eps not handed on",
            ((", self.eps)", ")"),),
            "forward hands weight, bias and eps on",
        ),
        (
            "eps kept under another name",
            (("self.eps = eps", "self.epsilon = eps"), ("self.eps)", "self.epsilon)")),
            "as the docstring says: self.eps = eps",
        ),
        (
            "one row a token, by view",
            ((FUSED, f"{FUSED.replace('(x,', '(x.view(-1, x.size(-1)),')}.view(x.shape)"),),
            "view size is not compatible",
        ),
        (
            "one token alone not thought of",
            ((f"return {FUSED}", f"{NO_TOKEN_ALONE}        return {FUSED}"),),
            "",
        ),
        (
            "another eps at the start",
            (("eps: float = 1e-5", "eps: float = 1e-3"),),
            "it is 1e-5 unless given",
        ),
        (
            "no refusal",
            (("        check_at_least(1, d_model=d_model)\n        _check_eps(eps)\n", ""),),
            "",
        ),
        (
            "an eps of 0 let through",
            (("        _check_eps(eps)\n", ""),),
            "must be positive",
        ),
        (
            "random weight",
            (("torch.ones(d_model)", "torch.randn(d_model)"),),
            "a weight for each entry",
        ),
    )
)

RESULT = "return (inner - through_mean - through_variance) / root, gain_gradient, bias_gradient"


def backward_mistake(
    what: str, *pieces: tuple[str, str], lost: str = "input", hint: str = ""
) -> Submission:
    return mistake(what, "layer_norm_backward", pieces, lost=lost, hint=hint)


BACKWARD_MISTAKES = (
    backward_mistake("weight's summed over the entries",
        ("(upstream * normal).reshape(tokens).sum(dim=0)", "(upstream * normal).sum(dim=-1)"),
        lost="dials", hint="sums over each token's entries"),
    backward_mistake("bias's summed over the entries",
        ("upstream.reshape(tokens).sum(dim=0)", "upstream.sum(dim=-1)"),
        lost="dials", hint="sums over each token's entries"),
    backward_mistake("view of what is not contiguous",
        ("upstream.reshape(tokens)", "upstream.view(tokens)"), hint="view"),
    backward_mistake("float32 for weight and bias",
        (RESULT, RESULT.replace("_gradient", "_gradient.float()")),
        lost="dials", hint="dtype torch.float32, expected torch.float64"),
    backward_mistake("mean of squares less square of the mean",
        ("centred.square().mean(dim=-1, keepdim=True)",
         "(x.square().mean(dim=-1, keepdim=True) - x.mean(dim=-1, keepdim=True).square())"),
        hint="subtract the mean before you square"),
    backward_mistake("mean and variance taken for constants",
        ("inner - through_mean - through_variance", "inner"), hint=""),
    backward_mistake("the way through the variance forgotten",
        ("inner - through_mean - through_variance", "inner - through_mean"),
        hint="the way through the variance is missing"),
    backward_mistake("the way through the mean forgotten",
        ("inner - through_mean - through_variance", "inner - through_variance"),
        hint="subtract the mean of v"),
    backward_mistake("the weight forgotten", ("inner = upstream * weight", "inner = upstream"),
        hint="the weight is missing"),
    backward_mistake("not divided by s",
        ("(inner - through_mean - through_variance) / root",
         "inner - through_mean - through_variance"), hint="the division by s is missing"),
    backward_mistake("divided by the variance",
        ("through_variance) / root,", "through_variance) / root**2,"),
        hint="divide by s, the root"),
    backward_mistake("multiplied by s", ("through_variance) / root,", "through_variance) * root,"),
        hint="divide by s; this multiplies"),
    backward_mistake("unbiased variance",
        ("centred.square().mean(dim=-1, keepdim=True)", "x.var(dim=-1, keepdim=True)"),
        lost="dials input", hint="the variance divides by d_model"),
    backward_mistake("eps fixed", (" + eps)", " + 1e-5)"),
        lost="dials input", hint="eps is fixed; use the argument eps"),
    backward_mistake("means over the tokens",
        ("x.mean(dim=-1, keepdim=True)", "x.mean(dim=-2, keepdim=True)"),
        ("centred.square().mean(dim=-1, keepdim=True)",
         "centred.square().mean(dim=-2, keepdim=True)"),
        ("inner.mean(dim=-1, keepdim=True)", "inner.mean(dim=-2, keepdim=True)"),
        ("(inner * normal).mean(dim=-1, keepdim=True)",
         "(inner * normal).mean(dim=-2, keepdim=True)"),
        lost="dials input", hint="means run over the tokens; they belong over the last dimension"),
    backward_mistake("eps outside the root",
        ("torch.sqrt(centred.square().mean(dim=-1, keepdim=True) + eps)",
         "(torch.sqrt(centred.square().mean(dim=-1, keepdim=True)) + eps)"),
        lost="dials input", hint="eps stands under the root"),
    backward_mistake("no eps", (" + eps)", ")"), lost="dials input", hint="eps is not used"),
    backward_mistake("a sign",
        ("inner - through_mean - through_variance", "inner - through_mean + through_variance"),
        hint="what goes through the variance is subtracted"),
    backward_mistake("sums for means",
        ("inner.mean(dim=-1, keepdim=True)", "inner.sum(dim=-1, keepdim=True)"),
        ("(inner * normal).mean(dim=-1, keepdim=True)",
         "(inner * normal).sum(dim=-1, keepdim=True)"), hint=""),
    backward_mistake("weight and bias exchanged",
        (RESULT, RESULT.replace("gain_gradient, bias_gradient", "bias_gradient, gain_gradient")),
        lost="dials", hint="in this order"),
    backward_mistake("averages over the tokens",
        ("(upstream * normal).reshape(tokens).sum(dim=0)",
         "(upstream * normal).reshape(tokens).mean(dim=0)"),
        ("upstream.reshape(tokens).sum(dim=0)", "upstream.reshape(tokens).mean(dim=0)"),
        lost="dials", hint="an average over the tokens"),
    backward_mistake("the average of the bias's gradient alone",
        ("upstream.reshape(tokens).sum(dim=0)", "upstream.reshape(tokens).mean(dim=0)"),
        lost="dials", hint="an average over the tokens"),
    backward_mistake("the gradient of weight takes x as it came",
        ("(upstream * normal)", "(upstream * x)"), lost="dials", hint="not by x"),
    backward_mistake("the gradient of weight without x", ("(upstream * normal)", "upstream"),
        lost="dials"),
    backward_mistake("the gradient of bias times the weight",
        ("bias_gradient = upstream.", "bias_gradient = (upstream * weight)."),
        lost="dials", hint="upstream alone"),
    backward_mistake("sums over the first dimension alone",
        ("(upstream * normal).reshape(tokens).sum(dim=0)", "(upstream * normal).sum(dim=0)"),
        ("upstream.reshape(tokens).sum(dim=0)", "upstream.sum(dim=0)"), lost="dials", hint=""),
    backward_mistake("the gradient of x alone",
        (RESULT, "return (inner - through_mean - through_variance) / root"),
        lost="dials input", hint="three gradients"),
    backward_mistake("upstream scaled in place",
        ("inner = upstream * weight", "inner = upstream.mul_(weight)"), hint=""),
)  # fmt: skip


def detective(what: str, source: str, lost: str, hint: str = "") -> Submission:
    return mistake(what, "diagnose_layer_norm", source, lost=lost, hint=hint)


KEEPS_MEAN = '        return "keeps the mean"\n'
DETECTIVE_MISTAKES = (
    detective("always right", 'def diagnose_layer_norm(norm):\n    return "right"\n',
        "exhibits suspects", "each of the three is wrong"),
    detective("a verdict of its own",
        'def diagnose_layer_norm(norm):\n    return "unbiased variance"\n', "exhibits suspects",
        "return one of VERDICTS"),
    detective("nothing returned", "def diagnose_layer_norm(norm):\n    norm\n", "exhibits suspects",
        "return one of VERDICTS"),
    mistake("eps too small to see", "diagnose_layer_norm",
        (("eps=3.0)", "eps=1e-5)"), ("math.sqrt(1 + 3)", "1.00001"),
         ("math.sqrt(2 + 3)", "math.sqrt(2)"), ('root": 1 + 3', 'root": 1.00002')),
        lost="exhibits suspects", hint="each of the three is wrong"),
    mistake("sentences never mixed", "diagnose_layer_norm",
        (("norm(crowd, weight, bias, eps=1e-5)[:1, :1]",
          "norm(crowd[:1], weight, bias, eps=1e-5)[:, :1]"),),
        lost="suspects", hint="over the batch"),
    mistake("tokens never mixed", "diagnose_layer_norm",
        (("norm(crowd, weight, bias, eps=1e-5)[:1, :1]",
          "norm(crowd[:, :1], weight, bias, eps=1e-5)[:1]"),),
        lost="exhibits suspects", hint="each of the three is wrong"),
    mistake(
        "the mean not looked at",
        "diagnose_layer_norm",
        (
            (
                "    if not torch.allclose(norm(crowd[:1, :1] + 10, weight, bias, "
                "eps=1e-5), alone, "
                "atol=1e-4):\n" + KEEPS_MEAN,
                "",
            ),
        ),
        lost="suspects",
        hint="root of the mean square",
    ),
    mistake("a suspect without a mean", "diagnose_layer_norm",
        (("norm(crowd[:1, :1] + 10, weight", "norm(crowd[:1, :1], weight"),), lost="suspects"),
    mistake("eps and Bessel exchanged", "diagnose_layer_norm",
        (('"divides by d_model - 1": math.sqrt(2 + 3)', '"divides by d_model - 1": 1 + 3'),
         ('"eps outside the root": 1 + 3', '"eps outside the root": math.sqrt(2 + 3)')),
        lost="exhibits suspects", hint="read its code again"),
    mistake("Bessel not known", "diagnose_layer_norm",
        (('        "divides by d_model - 1": math.sqrt(2 + 3),\n', ""),),
        lost="exhibits suspects", hint="each of the three is wrong"),
    mistake("eps not known", "diagnose_layer_norm",
        (('        "eps outside the root": 1 + 3,\n', ""),),
        lost="exhibits suspects", hint="a mistake of its own"),
    mistake("one token alone, always", "diagnose_layer_norm",
        (("norm(crowd, weight, bias, eps=1e-5)[:1, :1]", "alone"),),
        lost="exhibits suspects", hint="each of the three is wrong"),
)  # fmt: skip

POST = "self.norm(x + self.dropout(sublayer(x)))"
PRE = "x + self.dropout(sublayer(self.norm(x)))"


def residual_mistake(what: str, *pieces: tuple[str, str], lost: str, hint: str = "") -> Submission:
    return mistake(what, "Residual", pieces, lost=lost, hint=hint)


RESIDUAL_MISTAKES = (
    residual_mistake("the position of the norm kept as a flag",
        ("self.norm_position = norm_position", 'self.norm_position = norm_position == "pre"'),
        ('self.norm_position == "pre"', "self.norm_position"),
        lost="post", hint="keep it as it was given"),
    residual_mistake("the position of the norm not kept",
        ("self.norm_position = norm_position", 'self.first = norm_position == "pre"'),
        ('self.norm_position == "pre"', "self.first"), lost="post", hint="keep it as it was given"),
    residual_mistake("x not added after the sublayer",
        (POST, "self.norm(self.dropout(sublayer(x)))"), lost="post", hint="x itself is not added"),
    residual_mistake("both made, and one of them chosen",
        ('        if self.norm_position == "pre":\n'
         "            return x + self.dropout(sublayer(self.norm(x)))\n"
         "        return self.norm(x + self.dropout(sublayer(x)))",
         "        pre = x + self.dropout(sublayer(self.norm(x)))\n"
         "        post = self.norm(x + self.dropout(sublayer(x)))\n"
         '        return pre if self.norm_position == "pre" else post'),
        lost="post", hint="the sublayer runs once"),
    residual_mistake("x never added", (POST, "self.norm(self.dropout(sublayer(x)))"),
        (PRE, "self.dropout(sublayer(self.norm(x)))"),
        lost="post pre", hint="x itself is not added"),
    residual_mistake("dropout a tenth unless it is given",
        ("dropout: float = 0.0", "dropout: float = 0.1"),
        lost="dropout", hint="dropout is 0 unless it is given"),
    residual_mistake("x not added before it", (PRE, "self.dropout(sublayer(self.norm(x)))"),
        lost="pre", hint="x itself is not added"),
    residual_mistake("pre and post exchanged", ('"pre":', '"post":'),
        lost="post pre", hint="this is pre"),
    residual_mistake("the normalised x is added",
        (PRE, "self.norm(x) + self.dropout(sublayer(self.norm(x)))"),
        lost="pre", hint="add x as it came"),
    residual_mistake("the sublayer's output normalised",
        (PRE, "x + self.norm(self.dropout(sublayer(x)))"),
        lost="pre", hint="normalise what it reads"),
    residual_mistake("always post", ('if self.norm_position == "pre":', "if False:"),
        lost="pre", hint="this is post"),
    residual_mistake("always pre", ('if self.norm_position == "pre":', "if True:"),
        lost="post", hint="this is pre"),
    residual_mistake("no norm after the sum", (POST, "x + self.dropout(sublayer(x))"),
        lost="post", hint="the norm is missing"),
    residual_mistake("no norm before the sublayer", (PRE, "x + self.dropout(sublayer(x))"),
        lost="pre", hint="the norm is missing"),
    residual_mistake("normalised twice",
        (PRE, "self.norm(x + self.dropout(sublayer(self.norm(x))))"),
        lost="pre", hint="normalised twice"),
    residual_mistake("x normalised in place of the sum",
        (POST, "self.norm(x) + self.dropout(sublayer(x))"), lost="post", hint="the sum is not"),
    residual_mistake("dropout on the sum", (PRE, "self.dropout(x + sublayer(self.norm(x)))"),
        lost="dropout", hint="and with it the road"),
    residual_mistake("dropout on the road", (PRE, "self.dropout(x) + sublayer(self.norm(x))"),
        lost="dropout", hint="the road is dropped"),
    residual_mistake("dropout on what is read", (PRE, "x + sublayer(self.dropout(self.norm(x)))"),
        lost="dropout", hint="not on what it reads"),
    residual_mistake("dropout on what is read as well",
        (PRE, "x + self.dropout(sublayer(self.dropout(self.norm(x))))"),
        lost="dropout", hint="not on what it reads"),
    residual_mistake("dropout on what is read as well, after",
        (POST, "self.norm(x + self.dropout(sublayer(self.dropout(x))))"),
        lost="dropout", hint="not on what it reads"),
    residual_mistake("dropout drawn once for all tokens",
        (PRE, "x + sublayer(self.norm(x)) * self.dropout(x[:1] * 0 + 1)"),
        lost="dropout", hint="drawn anew"),
    residual_mistake("dropout drawn once and kept", (PRE,
         "x + sublayer(self.norm(x)) * (self.kept(x) if self.training else 1)"),
        ("    def forward(", "    def kept(self, x):\n"
         "        if getattr(self, 'drawn', x[:0]).shape != x.shape:\n"
         "            self.drawn = self.dropout(torch.ones_like(x))\n"
         "        return self.drawn\n\n    def forward("),
        lost="dropout", hint="drawn anew"),
    residual_mistake("no dropout", (PRE, "x + sublayer(self.norm(x))"),
        lost="dropout", hint="nothing is dropped"),
    residual_mistake("no dropout after", (POST, "self.norm(x + sublayer(x))"),
        lost="dropout", hint="nothing is dropped"),
    residual_mistake("dropout in evaluation too",
        (PRE, "x + nn.functional.dropout(sublayer(self.norm(x)), self.dropout.p)"),
        lost="dropout", hint="switches nn.Dropout off"),
    residual_mistake("dropout fixed at a tenth", ("nn.Dropout(dropout)", "nn.Dropout(0.1)"),
        lost="dropout", hint="hand dropout on"),
    residual_mistake("dropout fixed at a half", ("nn.Dropout(dropout)", "nn.Dropout(0.5)"),
        lost="dropout", hint="hand dropout on"),
    residual_mistake("the share that is kept in place of the share that is dropped",
        ("nn.Dropout(dropout)", "nn.Dropout(1 - dropout)"),
        lost="dropout", hint="not the share that is kept"),
    residual_mistake("all is dropped where no share is given",
        ("nn.Dropout(dropout)", "nn.Dropout(dropout or 1.0)"),
        lost="dropout", hint="dropout is 0 unless it is given"),
    residual_mistake("the norm is no part of the layer",
        ("self.norm = norm", "self.norms = [norm]"),
        (PRE, PRE.replace("self.norm(", "self.norms[0](")),
        (POST, POST.replace("self.norm(", "self.norms[0](")),
        lost="post", hint="self.norm = norm"),
    residual_mistake("detached in training",
        (PRE, "x + self.dropout(sublayer(self.norm(x)).detach() if self.training "
         "else sublayer(self.norm(x)))"),
        lost="pre", hint="do not detach"),
    residual_mistake("detached in training before the norm",
        (POST, "self.norm(x.detach() + self.dropout(sublayer(x)) if self.training "
         "else x + self.dropout(sublayer(x)))"),
        lost="post", hint="do not detach"),
    residual_mistake("any position of the norm",
        ("        check_norm_position(norm_position)\n", ""),
        lost="post", hint="check_norm_position"),
    residual_mistake("added in place", (PRE, "x.add_(self.dropout(sublayer(self.norm(x))))"),
        lost="pre", hint="change the caller's tensor"),
    residual_mistake("added in place before the norm",
        (POST, "self.norm(x.add_(self.dropout(sublayer(x))))"),
        lost="post", hint="change the caller's tensor"),
    residual_mistake("detached", (PRE, "x + self.dropout(sublayer(self.norm(x))).detach()"),
        lost="pre", hint="do not detach"),
)  # fmt: skip

CUT_MISTAKES = (
    mistake(
        "no way back past the positions",
        SINES,
        (("return x + self.vectors(", "return x.detach() + self.vectors("),),
        lost="values",
        hint="no gradient flows back to x",
    ),
    mistake(
        "turned without a way back",
        ROTARY,
        (*PLAIN, ("    def forward(self, x", "    @torch.no_grad()\n    def forward(self, x")),
        lost="all-hands",
        hint="no gradient flows back to x",
    ),
    mistake(
        "no way back from the inside",
        "FeedForward",
        (("self.dropout(inner)", "self.dropout(inner.detach())"),),
        lost="values",
        hint="no gradient flows back to x",
    ),
    mistake(
        "the spread without a way back",
        "layer_norm",
        (("torch.sqrt(variance + eps)", "torch.sqrt(variance.detach() + eps)"),),
        lost="values",
        hint="not all that should flows back to x",
    ),
    mistake(
        "each root a plain number",
        "rms_norm",
        """
def rms_norm(x, weight, *, eps=1e-6):
    rows = [
        token / math.sqrt(float(token @ token) / len(token) + eps) * weight
        for token in x.reshape(-1, x.shape[-1])
    ]
    return torch.stack(rows).reshape(x.shape)
""",
        lost="values",
        hint=".item(), float() and no_grad() cut the gradient",
    ),
    mistake(
        "no way back through the layer",
        "LayerNorm",
        (("F.layer_norm(x,", "F.layer_norm(x.detach(),"),),
        lost="parameters",
        hint="gradient of x",
    ),
)

MISTAKES: tuple[Submission, ...] = (
    *CUT_MISTAKES,
    *ANGLE_MISTAKES,
    *SINE_MISTAKES,
    *SHIFT_MISTAKES,
    *ROTARY_MISTAKES,
    *FEED_FORWARD_MISTAKES,
    *LAYER_NORM_MISTAKES,
    *RMS_MISTAKES,
    *LAYER_MISTAKES,
    *BACKWARD_MISTAKES,
    *DETECTIVE_MISTAKES,
    *RESIDUAL_MISTAKES,
)

# ---- the class ----

SAMPLE_CLASS: tuple[Submission, ...] = (
    Submission(student="ada", what="right, with loops", edits={**LOOPS, "before-or-after": ANSWER}),
    Submission(student="bela", what="right, with complex numbers and one-liners", edits=COMPLEX),
    Submission(student="chidi", what="right, by tricks of trigonometry", edits=TRICKS),
    right("what a sublayer gave is added to in place", {"Residual": (
        ("return x + self.dropout(sublayer(self.norm(x)))",
         "out = self.dropout(sublayer(self.norm(x)))\n            out += x\n"
         "            return out"),
        ("return self.norm(x + self.dropout(sublayer(x)))",
         "out = self.dropout(sublayer(x))\n        out += x\n        return self.norm(out)"),
    )}),
    right("as in LLaMA: turned in float32 as complex numbers, and RMSNorm's type_as", {
        ROTARY: (
            *PLAIN,
            ("sin, cos = angles.sin().to(x.dtype), angles.cos().to(x.dtype)  "
             "# (length, head_dim / 2)\n"
             "        first, second = x[..., 0::2], x[..., 1::2]  "
             "# (..., length, head_dim / 2) each\n"
             "        turned = torch.stack("
             "(first * cos - second * sin, first * sin + second * cos), dim=-1)",
             "wide = x.to(angles.dtype).reshape(*x.shape[:-1], -1, 2)\n"
             "        turns = torch.polar(torch.ones_like(angles), angles)\n"
             "        turned = torch.view_as_real(torch.view_as_complex(wide) * turns)"),
            ("return turned.flatten(-2)", "return turned.flatten(-2).type_as(x)"),
        ),
        "rms_norm": "def rms_norm(x, weight, *, eps=1e-6):\n"
        "    wide = x.to(torch.promote_types(x.dtype, torch.float32))\n"
        "    root = torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + eps)\n"
        "    return (wide * root).type_as(x) * weight\n",
    }),
    Submission(student="dana", what="unbiased variance, forwards and backwards",
        edits={"layer_norm": ((VARIANCE, "x.var(dim=-1, keepdim=True)"),),
            "layer_norm_backward": (
                ("centred.square().mean(dim=-1, keepdim=True)", "x.var(dim=-1, keepdim=True)"),)},
        lost={"layer_norm": "values", "layer_norm_backward": "dials input"},
        hint="the variance divides by d_model - 1"),
    Submission(student="emil", what="sine and cosine swapped everywhere",
        edits={SINES: ((PAIRS, "torch.stack((angles.cos(), angles.sin()), dim=-1)"),),
            SHIFT: ((BLOCKS, "torch.stack((cos, -sin, sin, cos), dim=-1)"),)},
        lost={SINES: "pattern values", SHIFT: "one-hand"}, hint="sine and cosine are swapped"),
    Submission(student="fatima", what="a LayerNorm that stands on a wrong layer_norm",
        edits={"layer_norm": (("torch.sqrt(variance + eps)", "(torch.sqrt(variance) + eps)"),),
            "LayerNorm": (
                ("return F.layer_norm(x, self.weight.shape, self.weight, self.bias, self.eps)",
                 "return layer_norm(x, self.weight, self.bias, eps=self.eps)"),)},
        lost={"layer_norm": "eps"}, hint="under the root"),
    Submission(student="greta", what="Bessel, in the formula and again in the layer",
        edits={"layer_norm": ((VARIANCE, "x.var(dim=-1, keepdim=True)"),),
            "LayerNorm": ((FUSED, BESSEL),)},
        lost={"layer_norm": "values"}, hint="the variance divides by d_model - 1"),
    Submission(student="goran", what="wrong speeds, and positions on their own feet",
        edits={ANGLES: (("torch.arange(0, width, 2,", "torch.arange(0, width // 2,"),),
            SINES: LOOPS[SINES], SHIFT: LOOPS[SHIFT], ROTARY: LOOPS[ROTARY]},
        lost={ANGLES: "values"}, hint="the exponent runs over 0, 2/width, 4/width"),
    Submission(student="hana", what="dropout that never sleeps",
        edits={"FeedForward": ((OUTER, "self.down_projection(F.dropout(inner, self.dropout.p))"),),
            "Residual": ((PRE, "x + F.dropout(sublayer(self.norm(x)), self.dropout.p)"),)},
        lost={"FeedForward": "dropout", "Residual": "dropout"}, hint="switches nn.Dropout off"),
    Submission(student="ivo", what="half done: nothing after the norms",
        edits={"layer_norm_backward": BLANK, "diagnose_layer_norm": BLANK, "Residual": BLANK,
            "before-or-after": ANSWER},
        lost={"layer_norm_backward": "*", "diagnose_layer_norm": "*", "Residual": "*"}),
    Submission(student="jun", what="half done from the other end",
        edits=dict.fromkeys((ANGLES, SINES, SHIFT, ROTARY, "FeedForward"), BLANK),
        lost=dict.fromkeys((ANGLES, SINES, SHIFT, ROTARY, "FeedForward"), "*")),
    Submission(
        student="kofi",
        what="PyTorch's own normalisations, which the rule forbids",
        edits={
            "layer_norm": """
def layer_norm(x, weight, bias, *, eps=1e-5):
    return F.layer_norm(x, weight.shape, weight, bias, eps)
""",
            "rms_norm": """
def rms_norm(x, weight, *, eps=1e-6):
    return F.rms_norm(x, weight.shape, weight, eps)
""",
            "layer_norm_backward": """
def layer_norm_backward(upstream, x, weight, *, eps=1e-5):
    with torch.enable_grad():
        inputs = (x, weight, torch.zeros_like(weight))
        leaves = [t.detach().clone().requires_grad_() for t in inputs]
        output = layer_norm(*leaves, eps=eps)
        return torch.autograd.grad(output, leaves, upstream)
""",
        },
        lost={"layer_norm": "*", "rms_norm": "*", "layer_norm_backward": "*"},
        judge_only=True,
    ),
    Submission(
        student="mo",
        what="each norm by way of PyTorch's other one, which the rule forbids",
        edits={
            "layer_norm": """
def layer_norm(x, weight, bias, *, eps=1e-5):
    return F.rms_norm(x - x.mean(-1, keepdim=True), weight.shape, weight, eps) + bias
""",
            "rms_norm": """
def rms_norm(x, weight, *, eps=1e-6):
    both = torch.cat((x, -x), dim=-1)  # whose mean is 0
    return F.layer_norm(both, both.shape[-1:], eps=eps)[..., : x.size(-1)] * weight
""",
        },
        lost={"layer_norm": "*", "rms_norm": "*"},
        judge_only=True,
    ),
    Submission(student="lea", what="os._exit in the middle",
        edits={"rms_norm": "def rms_norm(x, weight, *, eps=1e-6):\n    os._exit(0)\n"},
        lost={"rms_norm": "*"}, status=Status.CRASH, judge_only=True),
)  # fmt: skip

EQUIVALENT = {
    "arange(0, width, 2, dtype=dtype)": "the device shows on a GPU alone; the tests run there too",
    "torch.arange(offset, offset + length)": "the same",
    "torch.arange(offset, offset + x.size(-2))": "the same",
    "offset=offset, dtype=x.dtype)": "the same",
    "_check_even('',": "another word in an error's text",
    "check_width(": "no docstring promises an error for another width",
    "torch.compiler.is_compiling()": "the same, computed again or in another way",
    "self._last": "likewise",
    "asked = (": "a layer that is called with one length alone",
    "-    _check_even('d_model', d_model)": "position_angles refuses it too",
    "+    if width < 1": "a width of 1 is odd",
    "torch.promote_types(torch.float32, dtype)": "the order of the two types does not matter",
    "-    x = x.to(torch.promote_types(dtype, torch.float32))": "digits that nobody asks for",
    "-    return torch.promote_types(dtype, torch.float32)": "digits that no docstring promises",
    "+        angles = position_angles(positions, self.d_model)": "more digits than asked for",
    "+        angles = position_angles(positions, self.head_dim, base=self.base)": "the same",
    "d_model)[-1]": "there is one row",
    "dim=--1": "the last of two dimensions",
    "x[..., ::2]": "the same slice",
    "+    alone = norm(": "any small eps will do",
    "crowd = torch.tensor(": "any four tokens that differ will do",
    "alone, atol=": "any tolerance between rounding and a mistake will do",
    "norm(crowd[:1, :1] - 10": "any shift will do",
    "norm(crowd[:1, :1] + 9": "the same",
    "norm(crowd[:1, :1] + 11": "the same",
    "norm(crowd[:, :1] + 10": "other tokens beside it: it is known by then that none is mixed in",
    "norm(crowd[:1, :] + 10": "the same",
    "norm(crowd[:2, :1] + 10": "the same",
    "norm(crowd[:1, :2] + 10": "the same",
    "+    divisors = {'right'": "the nearest of three divisors, all far apart",
    "[-1, 0, 1].item()": "there is one sentence",
    "[0, -1, 1].item()": "there is one token",
}
