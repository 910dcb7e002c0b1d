"""Looking at results: tables of numbers and plots. Nothing here changes a state."""
