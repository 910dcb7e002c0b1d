"""Where frames come from: a live simulation or a recording."""
