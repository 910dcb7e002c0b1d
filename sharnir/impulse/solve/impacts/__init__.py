"""Impacts with restitution: generalised reflections, groups of different restitution, what rests beside them."""
