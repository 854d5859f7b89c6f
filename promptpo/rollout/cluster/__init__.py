"""Jobs on a Ray cluster: the same workers, on other machines.

``executor`` is what a run sees; ``dispatch`` gives jobs to ``places`` and knows nothing of Ray;
``crew`` hires them, Ray actors that run a ``seat``; ``parcels`` is what is sent once and not with
every job; ``connection`` is the Ray that this process is connected to.
"""
