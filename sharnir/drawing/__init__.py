"""What is drawn of a model, independent of any viewer."""
