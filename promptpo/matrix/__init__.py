"""Several runs of one plan, specs x methods x seeds, each a process of its own.

A sweep (several specs or ``--seeds``) and a benchmark (a suite's TOML file) are planned, carried
out, resumed and interrupted by the same code: ``plan`` and its folder on disk, ``runner``,
``overview``. A benchmark adds what is compared (``suite``, ``bench``) and how (``results``,
``statistics``, ``page``, ``paper``).
"""
