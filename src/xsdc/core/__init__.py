"""The paper's mathematics as pure functions on tensors: no I/O, no globals, inputs never modified."""
