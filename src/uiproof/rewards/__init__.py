"""Rewards for training loops: one bounded number for each answer, and what it consists of."""
