"""Test vectors: results of the Python core for hundreds of answers and runs, which the TypeScript core must match.

`python -m checklist_dev.generate vectors` writes `tests/vectors/executor.json`; `--check` only verifies that it is
current. pytest (`tests/unit/templates/test_vectors.py`) and vitest (`api/web/core/vectors.test.ts`) run the same file.
"""
