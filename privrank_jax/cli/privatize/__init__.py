"""`privrank privatize`: answers randomized by the users themselves."""
