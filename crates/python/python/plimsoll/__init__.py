"""Plans the memory of tensor programs down to the lower bound, and proves it.

>>> import plimsoll
>>> p = plimsoll.pack([4096, 8192, 4096], starts=[0, 1, 2], ends=[2, 3, 4])
>>> p.arena_bytes, p.status
(12288, 'optimal')

`plan` plans a model, `Program` whatever you declare, `explain` says why the arena is as large as it is, `fit` rewrites a
model so that it needs less, and a `Session` runs one in the memory that is planned for it.
`plimsoll.executorch` and `plimsoll.torch` are adapters; torch and executorch are not needed for the rest.
"""

from ._plimsoll import (
    DoesNotFit,
    Error,
    Explanation,
    Fitted,
    Packing,
    Plan,
    Program,
    Session,
    __version__,
    check,
    explain,
    fit,
    pack,
    plan,
)

__all__ = [
    "DoesNotFit",
    "Error",
    "Explanation",
    "Fitted",
    "Packing",
    "Plan",
    "Program",
    "Session",
    "__version__",
    "check",
    "explain",
    "fit",
    "pack",
    "plan",
]
