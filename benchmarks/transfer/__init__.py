"""What a store of similar kernels saves a first run."""
