"""Settings: one typed model for each program, with names, bounds and descriptions that environment, chart and
documentation share (docs/settings.md is generated from them).

What API and operator have in common is here, since neither may import the other: `shared` the settings themselves,
`declaring` how one is declared, `forms` how one is written, `reading` how an environment becomes a model or one line
that says what is wrong with it, `held` and `rotation` secrets and certificates that are read again when their files
change, `table` what `--help` prints.
"""
