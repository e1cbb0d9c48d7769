-- Which passages lack a vector is seen from the vectors themselves.
DROP TABLE pending_vectors;
-- Whether a question is the same is told by its words.
DROP TABLE question_vectors;
