"""The real-time engine: a step by sequential impulses, in generalised or maximal coordinates."""
