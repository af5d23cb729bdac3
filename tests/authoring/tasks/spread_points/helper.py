COUNTS = (5, 7, 10)
