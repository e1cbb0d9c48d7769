"""Training of the reader: examples from open data, the network in PyTorch, its export to int8 ONNX."""
