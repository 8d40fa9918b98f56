"""The second MSCCL interpreter and the sample files of one test module are used by others, whatever pytest's import
mode."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
