"""What lists are answered from: SQLite tables in memory, fed by watches. And deliveries, as objects record them."""
