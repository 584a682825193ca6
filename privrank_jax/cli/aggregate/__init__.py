"""`privrank aggregate`: one consensus from rankings."""
