"""Never even loads."""
# expect: timeout
# seconds: 1

while True:
    pass
