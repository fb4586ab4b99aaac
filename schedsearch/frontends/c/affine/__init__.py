"""Integers that are sums of sizes and variables of loops, and what is known of them."""
