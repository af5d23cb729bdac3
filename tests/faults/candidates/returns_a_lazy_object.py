"""Returns an object that computes something else each time that it is read."""
# expect: invalid

class Lazy:
    def __init__(self, matrix):
        self.matrix, self.reads = matrix, 0

    def __array__(self, *args, **kwargs):
        self.reads += 1
        return self.matrix * self.reads

    def __len__(self):
        return len(self.matrix) + self.reads


def heuristics(matrix):
    return Lazy(matrix)
