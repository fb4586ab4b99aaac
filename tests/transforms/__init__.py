"""Tests of schedsearch.transforms."""
