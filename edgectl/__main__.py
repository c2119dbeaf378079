"""`python -m edgectl` is the same as `edgectl`."""

from edgectl.cli import main

if __name__ == "__main__":
    main()
