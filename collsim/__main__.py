"""`python -m collsim` is the command `collsim`."""

from .cli import main

if __name__ == "__main__":
    main()
