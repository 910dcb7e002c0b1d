"""Small mechanisms: pendulums, chains, linkages, grippers, piles."""
