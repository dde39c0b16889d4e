"""Vectors: what the Python core says about some hundred answers and runs, for the TypeScript core to say the same.

`python -m checklist_dev.generate vectors` writes `tests/vectors/executor.json`; with `--check` it only says whether the
file is current. The same file is run by pytest (`tests/unit/templates/test_vectors.py`) and by vitest
(`api/web/core/vectors.test.ts`).
"""
