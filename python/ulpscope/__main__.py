"""`python -m ulpscope` is the program."""

from ulpscope_program import main

if __name__ == "__main__":
    main()
