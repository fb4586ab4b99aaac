"""Identities of thousands of candidates, which no change may alter: stores and locks hold them."""
