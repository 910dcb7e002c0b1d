"""Control of what is driven, at rates of its own."""
