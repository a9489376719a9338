"""python -m sfumato."""

from sfumato.cli.main import main

main()
