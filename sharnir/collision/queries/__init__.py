"""Ray casts and distances between the shapes of a model at rest."""
