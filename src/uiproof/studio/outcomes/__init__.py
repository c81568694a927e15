"""What people said, counted: agreement, rates, and the program beside them."""
