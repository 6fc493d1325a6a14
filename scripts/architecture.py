"""Write the diagram of the code's folders and their imports into ARCHITECTURE.md: ``make map``.

The folders of ``course_lib`` and ``autograder`` are called rooms.
"""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "ARCHITECTURE.md"
BEGIN = "<!-- rooms: written by `make map` from the imports and docstrings of the code -->"
END = "<!-- end of the rooms -->"
PACKAGES = ("course_lib", "autograder")


def rooms_section() -> str:
    """Return a Mermaid diagram of the imports between rooms (a package's subfolders), and a table.

    An arrow leads from a room to one that it imports, unless a longer path of arrows does too.
    The table has each room's first docstring line.
    """
    lines = ["```mermaid", "flowchart TD"]
    for package in PACKAGES:
        arrows = imports_between_rooms(package)
        order = TopologicalSorter({a: sorted(arrows[a]) for a in sorted(arrows)}).static_order()
        lines += [f"  subgraph {package}", *(f"    {room}" for room in reversed([*order]))]
        lines += [f"    {a} --> {b}" for a in sorted(arrows) for b in sorted(direct(arrows, a))]
        lines += ["  end"]
    lines += ["```", "", "| room | holds |", "|---|---|"]
    for package in PACKAGES:
        for room in sorted(imports_between_rooms(package)):
            folder = ROOT / package / room
            doc = ast.get_docstring(ast.parse((folder / "__init__.py").read_text("utf-8"))) or ""
            lines.append(f"| [{package}/{room}]({package}/{room}) | {doc.splitlines()[0]} |")
    return "\n".join(lines)


def imports_between_rooms(package: str) -> dict[str, set[str]]:
    """Return for each subfolder of a package which other subfolders its files import."""
    rooms = [path.parent.name for path in sorted((ROOT / package).glob("*/__init__.py"))]
    arrows = {}
    for room in rooms:
        names = set()
        for file in (ROOT / package / room).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ImportFrom) and node.module:
                    names |= {f"{node.module}.{alias.name}" for alias in node.names}
                elif isinstance(node, ast.Import):
                    names |= {alias.name for alias in node.names}
        parts = [name.split(".") for name in names]
        found = {part[1] for part in parts if part[0] == package and len(part) > 1}
        arrows[room] = found & set(rooms) - {room}
    return arrows


def direct(arrows: dict[str, set[str]], room: str) -> set[str]:
    """Return the folders that ``room`` imports, without those that it also reaches indirectly.

    ``arrows`` maps each folder of a package to the folders that it imports.
    """

    def reached(start: str) -> set[str]:
        return arrows[start].union(*(reached(following) for following in arrows[start]))

    return arrows[room].difference(*(reached(other) for other in arrows[room]))


def with_rooms(text: str) -> str:
    """Return ARCHITECTURE.md's text with ``rooms_section()`` between its two marker lines.

    Raises:
        SystemExit: A marker line is missing.
    """
    if BEGIN not in text or END not in text:
        raise SystemExit(f"map: ARCHITECTURE.md needs the lines {BEGIN!r} and {END!r}")
    before, rest = text.split(BEGIN, 1)
    return f"{before}{BEGIN}\n\n{rooms_section()}\n\n{END}{rest.split(END, 1)[1]}"


if __name__ == "__main__":
    PAGE.write_text(with_rooms(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
