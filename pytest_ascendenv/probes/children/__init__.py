"""Small programs for what may hang: each runs alone in a child (``ask``) and imports only the standard library."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pytest_ascendenv.probes import limited
from pytest_ascendenv.verdict import Unknown

GONE = "the child ended without an answer"


def ask(program: str, order: dict[str, Any], seconds: float, what: str) -> dict[str, Any]:
    """The answer of one program to an order, both JSON objects.

    Raises Unknown with "``what`` did not return in N s" at the limit, or with the program's last words.
    """
    file = Path(__file__).with_name(f"{program}.py")
    text = limited.run([sys.executable, "-I", "-S", str(file), json.dumps(order)], seconds, what)
    try:
        answer: dict[str, Any] = json.loads(text)
    except ValueError as error:
        raise Unknown(f"{what}: {GONE}") from error
    return answer
