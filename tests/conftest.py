"""Makes the modules beside this file importable from all tests."""
