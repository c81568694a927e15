"""How chat models are asked: prompts, their options and their pictures."""
