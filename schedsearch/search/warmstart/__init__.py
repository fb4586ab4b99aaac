"""What do earlier runs and other procedures say about this one?"""
