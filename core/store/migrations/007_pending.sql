-- Which passages lack a vector is seen from the vectors themselves.
DROP TABLE pending_vectors;
