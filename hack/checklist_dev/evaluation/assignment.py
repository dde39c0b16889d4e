"""Assigns steps of the template to expectations, one to one, with the highest total score."""

from collections.abc import Sequence
from itertools import pairwise


def best_assignment(weights: Sequence[Sequence[float]]) -> list[int | None]:
    """For each row its column, or None; a weight of 0 or less means that they do not match.

    The Hungarian method with potentials, O(rows² x columns).
    """
    rows = len(weights)
    columns = max((len(row) for row in weights), default=0) + rows  # a spare column for each row without a match
    costs = [[-max(0.0, weight) for weight in row] + [0.0] * (columns - len(row)) for row in weights]
    row_potential, column_potential = [0.0] * (rows + 1), [0.0] * (columns + 1)
    row_of = [0] * (columns + 1)  # 1-based; 0: none
    for row in range(1, rows + 1):
        for here, there in pairwise(_shortest_path(row, costs, row_potential, column_potential, row_of)):
            row_of[here] = row_of[there]
        row_of[0] = 0
    given: list[int | None] = [None] * rows
    for column in range(1, columns + 1):
        row = row_of[column] - 1
        if row >= 0 and column <= len(weights[row]) and weights[row][column - 1] > 0:
            given[row] = column - 1
    return given


def _shortest_path(
    row: int, costs: list[list[float]], row_potential: list[float], column_potential: list[float], row_of: list[int]
) -> list[int]:
    """The columns of an augmenting path for `row`, from its free end back to 0; updates the potentials."""
    columns = len(column_potential)
    row_of[0] = row
    distance, came_from = [float("inf")] * columns, [0] * columns
    done = [False] * columns
    column = 0
    while row_of[column]:
        done[column] = True
        nearest, step = 0, float("inf")
        for other in range(1, columns):
            if done[other]:
                continue
            current = row_of[column]
            reduced = costs[current - 1][other - 1] - row_potential[current] - column_potential[other]
            if reduced < distance[other]:
                distance[other], came_from[other] = reduced, column
            if distance[other] < step:
                nearest, step = other, distance[other]
        for other in range(columns):
            if done[other]:
                row_potential[row_of[other]] += step
                column_potential[other] -= step
            else:
                distance[other] -= step
        column = nearest
    path = [column]
    while column:
        column = came_from[column]
        path.append(column)
    return path
