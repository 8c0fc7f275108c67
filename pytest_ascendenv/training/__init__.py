"""What a MindSpore program really does: watched inside a test, or captured in a child up to its first training call."""
