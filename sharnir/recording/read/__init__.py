"""Reading, replaying and showing a recording."""
