def checks(values, data):
    p, s = values["painkillers"], values["sleeping_pills"]
    yield ("morphine", 10 * p + 6 * s, "<=", 3000, "3000 mg of morphine")
    yield ("painkillers", p, ">=", 50, "at least 50 painkiller pills")
    yield ("share", s, ">=", 0.7 * (p + s), "at least 70% of the pills should be sleeping pills")
    yield ("no less than none", s, ">=", 0, "")
    yield ("whole painkillers", p, "integer", None, "pills")
    yield ("whole sleeping pills", s, "integer", None, "pills")
    yield ("medicine", 3 * p + 5 * s, "minimize", None, "minimize the total amount of digestive medicine")
