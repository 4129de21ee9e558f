"""Runs operators of a PyTorch dump again, from what they read: ``python -m tensortap._replay DUMP``."""
