"""Many machines behind one pool: an engine that keeps everything, and workers that evaluate.

Who lives where::

    engine        holds the key, the archive, the budget; puts work to the courier, reads nothing but checked JSON
     └─ courier      a process of its own, confined, without a key: it alone speaks the language of Dask
         └─ worker      on any machine: one function of ours by its name, texts in, text out; the same border as at home
"""
