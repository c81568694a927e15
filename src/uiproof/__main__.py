"""`python -m uiproof` is the same as `uiproof`."""

from uiproof.cli import main

if __name__ == "__main__":
    main()
