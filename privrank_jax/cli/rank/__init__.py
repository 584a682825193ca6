"""`privrank rank`: scores and a ranking from comparisons."""
