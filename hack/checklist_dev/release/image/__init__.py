"""The image of API and operator: its build, what is locked into it, what is listed of it.

`root` and `bill` use the standard library only: the build runs them inside, where nothing else is.
"""
