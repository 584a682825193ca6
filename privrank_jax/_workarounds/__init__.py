"""What XLA, LAPACK and the random generator have to be helped with, and when each help may go."""
