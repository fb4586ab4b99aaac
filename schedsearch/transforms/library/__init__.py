"""One module per transform; `schedsearch.transforms.registry` says what each defines."""
