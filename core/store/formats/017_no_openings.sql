-- SQLite's own checks tell whether the database is whole; how often the directory was opened is no longer counted.
DROP TABLE IF EXISTS openings;
