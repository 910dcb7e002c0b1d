"""Loads of joints on light links: forces of the joints, raised inertias, and the work that joints do by being stiff."""
