"""A finding as text: the verdict first, then where each fact was read, the cause and what to do."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from pytest_ascendenv.verdict import Finding, Verdict

WIDTH = 110  # columns of a wrapped line; the first line is never wrapped, since summaries quote it


def headline(finding: Finding) -> str:
    """One line: the precondition, what was expected and what was found."""
    if finding.verdict is Verdict.UNKNOWN:
        return f"{finding.precondition}: could not tell: {finding.found}"
    return f"{finding.precondition}: expected {finding.expected}, found {finding.found}"


def describe(finding: Finding) -> str:
    """The whole finding."""
    lines = [headline(finding)]
    if finding.verdict is Verdict.UNKNOWN:
        lines += _labelled("expected", [finding.expected])
    lines += _labelled("subject", [finding.subject])
    lines += _labelled("read", [str(fact) for fact in finding.evidence])
    lines += _labelled("cause", [finding.cause])
    lines += _labelled("fix", [finding.fix])
    lines += _labelled("note", finding.notes)
    lines += _labelled("see", [finding.reference])
    if finding.detail:
        lines += ["", *textwrap.indent(finding.detail.rstrip("\n"), "  ").splitlines()]
    return "\n".join(lines)


def several(findings: Sequence[Finding]) -> str:
    """Findings of one test as one text; with more than one, the first line names them all."""
    if len(findings) == 1:
        return describe(findings[0])
    names = ", ".join(finding.precondition for finding in findings)
    parts = [f"{len(findings)} preconditions not met: {names}", *map(describe, findings)]
    return "\n\n".join(parts)


def _labelled(label: str, values: Iterable[str]) -> list[str]:
    lines = []
    for value in filter(None, values):
        wrapped = textwrap.wrap(value, WIDTH, break_long_words=False, break_on_hyphens=False) or [""]
        lines.append(f"  {label:<9}{wrapped[0]}")
        lines += [f"  {'':<9}{rest}" for rest in wrapped[1:]]
        label = ""
    return lines
