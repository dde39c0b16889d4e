"""Checks that several API processes lose no update: a load of mixed operations, its history, and checks of it."""
