"""``python -m xsdc``."""

from xsdc.cli import main

if __name__ == "__main__":
    main()
