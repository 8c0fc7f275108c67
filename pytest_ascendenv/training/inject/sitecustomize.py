"""Found by every Python that a captured program starts: begins to watch it, then gives way to the site's own file."""

import importlib
import os
import sys


def _site_customize() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    path = list(sys.path)
    sys.path[:] = [entry for entry in path if os.path.abspath(entry) != here]
    ours = sys.modules.pop("sitecustomize")
    try:
        importlib.import_module("sitecustomize")
    except ImportError:
        sys.modules["sitecustomize"] = ours


def _watch() -> None:
    try:
        from pytest_ascendenv.training import child
    except ImportError:  # a checkout that is not installed: last, so that it shadows nothing
        sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))))
        from pytest_ascendenv.training import child
    child.start()


_site_customize()
if "ASCENDENV_CAPTURE" in os.environ:
    _watch()
