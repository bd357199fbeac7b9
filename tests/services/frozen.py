"""Keep what is imported so far out of garbage collections, in the forks of this process too."""

import gc

gc.freeze()
