"""Launch scripts and configuration files: the truth without running them.

``read_launches`` reads a script. Everything heavy (tree-sitter, YAML) is imported when a script is really read.
"""

from pytest_ascendenv.launch.model import Launch, Launches, Word
from pytest_ascendenv.launch.reader import read_launches

__all__ = ["Launch", "Launches", "Word", "read_launches"]
