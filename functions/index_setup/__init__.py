"""Deploy time: the k-NN index exists, and fits the model, before the first task arrives."""
