"""Has no such function."""
# expect: error

x = 1
