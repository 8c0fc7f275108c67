"""Probes read facts and judge nothing."""
