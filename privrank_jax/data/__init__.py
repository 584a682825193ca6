"""Data as people have them: files, frames and tables of any size, read by one reader."""
