"""Tables, charts and statistics of the paper, from runs, data sets and published labels."""
