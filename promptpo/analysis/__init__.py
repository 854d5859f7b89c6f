"""What runs show of a question that is larger than one of them."""
