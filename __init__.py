"""Pincite: chat with PDFs, with a checked quotation from a named page behind every sentence."""

__version__ = "0.1.0"
