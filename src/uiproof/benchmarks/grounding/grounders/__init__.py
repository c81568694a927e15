"""What finds an element in a picture, given an instruction and nothing else."""
