"""One room for each benchmark, all with the same furniture: cases, methods, judge, summary."""
