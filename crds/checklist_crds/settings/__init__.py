"""Settings: one typed model per program, with names, bounds and descriptions for environment, chart and documentation
(docs/settings.md is generated from them).

API and operator cannot import each other, so their common parts are here: `shared` settings, `declaring` of settings,
`forms` of values, `reading` an environment into a model or an error, `held` and `rotation` for secrets and certificates
that are read again when their files change, `table` for `--help`.
"""
