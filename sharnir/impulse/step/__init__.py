"""When things happen in a step: free motion, velocity phase, position phase, observation."""
