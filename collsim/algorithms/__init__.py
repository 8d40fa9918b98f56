"""One file per algorithm; every file here is imported, and registers itself with `@algorithm`."""

import importlib
import pkgutil

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
