"""What is tuned, where, and with which options: subject, target, budget, and a run's summary."""
