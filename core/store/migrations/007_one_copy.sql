-- Whether a question is the same is told by its words.
DROP TABLE question_vectors;
