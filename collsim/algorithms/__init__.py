"""One file per algorithm, which has its name; it is imported, and registers itself with `@algorithm`, when that name is
first asked for, or all are listed."""

import pkgutil

from ..registry import declare_built_in

declare_built_in(__name__, [module.name for module in pkgutil.iter_modules(__path__)])
