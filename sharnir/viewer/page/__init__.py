"""The viewer's own process: the page, its panel, who may come in and who drives."""
