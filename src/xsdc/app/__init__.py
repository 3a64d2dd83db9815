"""The labelling page: a person and a model, answer by answer."""
