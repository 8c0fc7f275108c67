"""Figures as text."""

from __future__ import annotations

from pytest_ascendenv.pipeline.picture import bars, sparkline


def test_a_sparkline_rises_with_its_values_from_zero():
    assert sparkline([0, 50, 100]) == "▁▅█"
    assert sparkline([100, 100]) == "██"
    assert sparkline([0, 0]) == "▁▁"
    assert sparkline([]) == ""
    assert sparkline([0, 50, 100], ascii_only=True) == "_=#"


def test_many_values_are_averaged_into_the_width():
    assert sparkline([0, 0, 100, 100], width=2) == "▁█"
    assert len(sparkline(range(1000))) == 60


def test_bars_are_aligned_and_scaled():
    assert bars([("source", 100), ("map", 25)], width=8, ascii_only=True).splitlines() == [
        "source  ########  100.0 samples/s",
        "map     ##        25.0 samples/s",
    ]
