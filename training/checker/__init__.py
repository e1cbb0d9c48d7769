"""Training of the claim checker: examples, and the teacher that provides probabilities to learn from."""
