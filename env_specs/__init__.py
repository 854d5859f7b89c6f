"""The specs that come with promptpo: one module a task, named after it, and families of them.

What they are made of, worlds of our own among it, lies in packages whose names begin with ``_``.
"""
