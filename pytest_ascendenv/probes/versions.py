"""Versions of installed distributions, from their metadata: nothing is imported."""

from __future__ import annotations

from importlib import metadata

from pytest_ascendenv.verdict import Fact


def installed(name: str) -> Fact:
    """The version of a distribution in this interpreter's environment; unset where it is not installed."""
    try:
        distribution = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return Fact.unset(name, None, "installed packages")
    version = distribution.metadata["Version"] if distribution.metadata else None
    if not version:
        return Fact.unknown(name, "its metadata has no version", str(distribution.locate_file("")))
    return Fact(name, version, str(distribution.locate_file("")))
