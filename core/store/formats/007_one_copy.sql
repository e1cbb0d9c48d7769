-- Which passages lack a vector is seen from the vectors themselves.
DROP TABLE pending_vectors;
-- Chroma's vectors go by the hash of their text; what it holds is known to the process that has it open.
DELETE FROM removals WHERE kind = 'passage';
ALTER TABLE vector_state DROP COLUMN chroma_index;
ALTER TABLE vector_state DROP COLUMN chroma_generation;
UPDATE vector_state SET seal = '';
-- Whether a question is the same is told by its words.
DROP TABLE question_vectors;
