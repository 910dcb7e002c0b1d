"""What the user writes: a scene of plain, keyword-only data classes."""
