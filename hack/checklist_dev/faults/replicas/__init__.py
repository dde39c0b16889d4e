"""Whether several API processes lose an update: a load of mixed operations, its history, and a check of the history."""
