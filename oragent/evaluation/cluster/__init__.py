"""Evaluation on many machines: the engine keeps all data, workers evaluate.

Processes::

    engine            holds the key, the archive and the budget; sends work by ``dask_client``, reads checked JSON only
     └─ dask_process     confined process without a key; only this process uses Dask
         └─ worker          on any machine: one function of ours (``worker_entry``), texts in, text out; same sandbox
"""
