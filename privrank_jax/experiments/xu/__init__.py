"""Studies of Xu, Sun and Cheng: ranking from locally private comparisons."""
