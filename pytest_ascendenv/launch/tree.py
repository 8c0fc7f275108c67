"""The tree of a script: tree-sitter-bash, imported when the first script is read."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_ascendenv.launch.text import original

if TYPE_CHECKING:
    from tree_sitter import Node, Parser


ENDING = re.compile(rb"[ \t]*\\[ \t]|(?<=[^\\]\\)[ \t]")  # an escaped blank, whole or cut in two by the tree


@functools.cache
def _parser() -> Parser:
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


@dataclass(frozen=True, eq=False)
class Script:
    """A parsed text with the name its lines are reported under.

    ``first`` is the line of its first line; ``fixed`` texts (of eval, of a substitution) all stand on that one line.
    """

    name: str
    data: bytes
    tree: Any
    first: int = 1
    fixed: bool = False

    @property
    def root(self) -> Node:
        node: Node = self.tree.root_node
        return node

    def line(self, node: Node) -> int:
        return self.first if self.fixed else self.first + node.start_point[0]

    def text(self, node: Node) -> str:
        return self.data[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def command_text(self, node: Node) -> str:
        """The text of a command with an escaped blank at its end, which the tree leaves out."""
        tail = ENDING.match(self.data, node.end_byte)
        return self.between(node.start_byte, tail.end() if tail else node.end_byte)

    def between(self, start: int, end: int) -> str:
        return self.data[start:end].decode("utf-8", "replace")

    def shown(self, node: Node) -> str:
        return original(self.text(node))


def parse(text: str, name: str, first: int = 1, fixed: bool = False) -> Script:
    data = text.encode("utf-8", "surrogatepass")
    return Script(name, data, _parser().parse(data), first, fixed)


def statements(nodes: list[Node]) -> Iterator[tuple[Node, bool]]:
    """The statements among nodes, each with whether it runs in the background."""
    for index, node in enumerate(nodes):
        if node.is_named and node.type not in ("comment", "heredoc_body", "heredoc_end"):
            background = index + 1 < len(nodes) and nodes[index + 1].type == "&"
            yield node, background


def stages(node: Node) -> list[Node]:
    """The commands of a pipeline, also of one within another."""
    named = [child for child in node.children if child.is_named]
    return [stage for child in named for stage in (stages(child) if child.type == "pipeline" else [child])]


def section(node: Node, start: str | None, *stops: str) -> list[Node]:
    """The children behind the keyword ``start`` up to one of ``stops``."""
    inside, found = start is None, []
    for child in node.children:
        if inside and child.type in stops:
            break
        if inside:
            found.append(child)
        elif child.type == start:
            inside = True
    return found
