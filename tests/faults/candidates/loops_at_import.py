"""Never even loads."""
# expect: timeout

while True:
    pass
