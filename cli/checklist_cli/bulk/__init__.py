"""Dispatches a run for each row of a table: reads the table, dispatches, and keeps the results in a file.

`cells` reads the file's records, `table` checks them and turns rows into requests, `result_file` is the result as CSV
and the job's state, `dispatching` sends the requests, `job` does all of it.
"""
