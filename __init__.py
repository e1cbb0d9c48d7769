"""Pincite: chat with PDFs, with a checked quotation from a named page behind every sentence."""
