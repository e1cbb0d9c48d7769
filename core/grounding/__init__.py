"""The judge's deterministic half: quotations, claims, checks and a calibrated confidence, without a language model."""
