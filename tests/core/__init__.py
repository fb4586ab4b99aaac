"""Tests of schedsearch.core."""
