"""How impulses are found: projected Gauss-Seidel, Newton methods, direct bilateral solve, split impulses."""
