"""A leaderboard that is published again and again: what each way of publishing it costs."""
