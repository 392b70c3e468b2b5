"""Follow import statements from one module, as text: what it needs of our own and of others.

Nothing is imported, so a module of another platform can be walked here.
"""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Walk:
    """What one module needs: our files, and foreign packages with a file that imports each."""

    own: set[Path] = field(default_factory=set)
    foreign: dict[str, Path] = field(default_factory=dict)


def walk(entry: Path, root: Path, left_out: Sequence[str] = ()) -> Walk:
    """Follow the run-time imports of a file, transitively; paths are relative to root.

    Into the folders of `left_out` no import is followed.
    """
    result = Walk()
    waiting = [entry.relative_to(root)]
    while waiting:
        file = waiting.pop()
        if file in result.own:
            continue
        result.own.add(file)
        for name in [*imports(root / file, root), *parents(file)]:
            found = own_file(name, root)
            if found is not None:
                if not any(found.is_relative_to(folder) for folder in left_out):
                    waiting.append(found)
            elif not (root / name.split(".")[0]).is_dir():
                result.foreign.setdefault(name.split(".")[0], file)
    return result


def imports(file: Path, root: Path, typing_too: bool = False) -> set[str]:
    """Return the dotted names one file imports, submodules of ours spelled out."""
    package = file.relative_to(root).parent.parts
    tree = ast.parse(file.read_text(encoding="utf-8"), filename=str(file))
    names: set[str] = set()
    for node in statements(tree, typing_too):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names.update(imported_from(node, package, root))
    return names


def imported_from(node: ast.ImportFrom, package: tuple[str, ...], root: Path) -> set[str]:
    """Return what `from x import y` means: x, or the module x.y where that is a file."""
    base = package[: len(package) + 1 - node.level] if node.level else ()
    source = ".".join([*base, *([node.module] if node.module else [])])
    members = {f"{source}.{alias.name}" for alias in node.names}
    return {source} | {member for member in members if own_file(member, root)}


def statements(tree: ast.AST, typing_too: bool) -> Iterator[ast.AST]:
    """Yield every node, without the blocks that only a type checker reads unless `typing_too`."""
    for node in ast.iter_child_nodes(tree):
        if not typing_too and isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            for other in node.orelse:
                yield other
                yield from statements(other, typing_too)
            continue
        yield node
        yield from statements(node, typing_too)


def own_file(name: str, root: Path) -> Path | None:
    """Return the file of one of our modules, or None for a name that is none."""
    base = Path(*name.split("."))
    for candidate in (base / "__init__.py", base.with_name(f"{base.name}.py")):
        if (root / candidate).is_file():
            return candidate
    return None


def parents(file: Path) -> list[str]:
    """Return the packages that Python imports before this module."""
    folders = [folder for folder in file.parents if folder.parts]
    return [".".join(folder.parts) for folder in folders]


def words(file: Path) -> set[str]:
    """Return every string literal of a file."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    constants = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return {value for value in constants if isinstance(value, str)}
