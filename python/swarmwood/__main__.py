"""`python -m swarmwood` is the command line."""

from swarmwood._command_line import main

main()
