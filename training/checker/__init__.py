"""Training of the claim checker: examples, and the teacher whose probabilities it learns from."""
