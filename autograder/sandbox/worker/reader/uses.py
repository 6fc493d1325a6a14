"""What is noted of a statement: the names that it binds, reads and uses."""

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Use:
    """A place where a full name is used.

    Attributes:
        name: Such as ``torch.nn.LayerNorm``.
        cell: Label of the cell.
        line: Line in the cell, from 1.
        changes: Whether something is assigned to it.
    """

    name: str
    cell: str
    line: int
    changes: bool = False


@dataclass(eq=False)
class Statement:
    """One statement of a cell's top level, or one in its blocks.

    Attributes:
        binds: Global names that it defines, or whose attributes it sets; and where it puts items:
            ``seen['theirs']``.
        fills: Those that it only puts something into: ``seen["theirs"] = 1``.
        plain: Those to which it gives a collection that does nothing of its own.
        adds: Whether it does nothing but add something to one: ``seen.append(1)``.
        covers: Those that stand for nothing else once it has run.
        reads: Global names that it reads, in functions that it defines too; and items of some.
        puts: Those that it, or a function in it, puts something into, or reads one item of.
        late: Those that it may read, or put something into, once later statements have run.
        uses: Full names that it uses.
        place: Its cell and line.
        texts: Its string constants and names of attributes, each with the cell and the line.
    """

    binds: set[str] = field(default_factory=set)
    fills: set[str] = field(default_factory=set)
    plain: set[str] = field(default_factory=set)
    adds: bool = False
    covers: set[str] = field(default_factory=set)
    reads: set[str] = field(default_factory=set)
    puts: set[str] = field(default_factory=set)
    late: set[str] = field(default_factory=set)
    uses: list[Use] = field(default_factory=list)
    place: tuple[str, int] = ("", 0)
    texts: list[tuple[str, str, int]] = field(default_factory=list)


def is_below(name: str, roots: Sequence[str]) -> bool:
    """Whether a full name is one of these, or an attribute of one of these."""
    return any(name == root or name.startswith(f"{root}.") for root in roots)
