"""Parser of the text syntax of operations by recursive descent. A line is executed only if all of it can be parsed.

The grammar is in ``docs/modelling.md``.
"""

from collections.abc import Callable
from typing import Literal, NoReturn, TypeVar, cast

from pydantic import ValidationError

from oragent._base.errors import ModellingError
from oragent.modelling.data.display import plain, quoted, validation_line
from oragent.modelling.data.model_values import Relation, Sense
from oragent.modelling.operations import requests as ops
from oragent.modelling.operations.tokens import Token, TokenKind, split_tokens
from oragent.modelling.references.reference_text import KEYWORDS, KINDS

Item = TypeVar("Item")
ASSIGNS = ("=", "+=", "-=", "*=")
COMPARISONS = ("<=", ">=")
# First words of changes that are not assignments.
CHANGES = ("forbid", "free", "drop", "relax", "row", "objective")
MAX_TRIALS = 1000


def parse_line(line: str) -> ops.AnyRequest:
    """Parse one line into a request.

    Raises:
        ModellingError: The line is malformed. The message names the position and the expected token.
    """
    parser = _Parser(line)
    try:
        request = parser.line()
    except ValidationError as problem:
        raise ModellingError(f"{validation_line(problem, parser.first_word)}; nothing was changed") from None
    parser.expect_end()
    return request


def is_comment(line: str) -> bool:
    """Return True if a line of a file is empty or begins with ``#``."""
    return not line.strip() or line.lstrip().startswith("#")


def _verb(verb: str, reference: ops.MemberReference) -> ops.ForbidChange | ops.FreeChange | ops.DropChange:
    if verb == "forbid":
        return ops.ForbidChange(reference=reference)
    if verb == "free":
        return ops.FreeChange(reference=reference)
    return ops.DropChange(reference=reference)


class _Parser:
    """The tokens of a line and the current position."""

    def __init__(self, line: str) -> None:
        self._line = line
        self._tokens = split_tokens(line)
        self._at = 0
        self._queries: dict[str, Callable[[], ops.AnyQuery]] = {
            "describe": lambda: ops.DescribeRequest(reference=self._optional_reference()),
            "data": lambda: ops.DataRequest(reference=self.reference()),
            "value": lambda: ops.ValueRequest(reference=self.reference()),
            "total": lambda: ops.TotalRequest(reference=self.reference(), by=self._by_name()),
            "top": self._top,
            "most": lambda: self._extreme("most"),
            "least": lambda: self._extreme("least"),
            "binding": lambda: ops.BindingRequest(reference=self._optional_reference()),
            "slack": lambda: ops.SlackRequest(reference=self.reference()),
            "price": self._price,
            "range": lambda: ops.RangeRequest(reference=self.reference()),
            "why": lambda: ops.WhyRequest(reference=self.reference()),
            "whynot": lambda: ops.WhyNotRequest(change=self.change()),
            "solve": ops.SolveRequest,
            "whatif": lambda: ops.WhatIfRequest(changes=self._list(self.change, ";")),
            "sweep": self._sweep,
            "conflict": ops.ConflictRequest,
            "repair": self._repair,
            "alternatives": lambda: ops.AlternativesRequest(count=self._count()),
            "frontier": self._frontier,
            "compare": lambda: ops.CompareScenariosRequest(
                first=self._name("a scenario"), second=self._name("a scenario")
            ),
            "verify": self._verify,
            "inverse": lambda: ops.InverseRequest(file=self._string("a file in double quotes")),
            "diff": lambda: ops.DiffRequest(file=self._string("a file in double quotes")),
            "keep": lambda: ops.KeepRequest(name="" if self._is_end() else self._name("a name")),
            "undo": lambda: ops.UndoRequest(count=1 if self._is_end() else self._count()),
            "scenario": lambda: ops.ScenarioRequest(name=self._name("a scenario")),
        }

    def line(self) -> ops.AnyRequest:
        """Parse a question or a change."""
        word = self.first_word
        if self._peek().kind is TokenKind.WORD and not self._names_target():
            if word in self._queries:
                self._at += 1
                return self._queries[word]()
            if word not in CHANGES:
                raise ModellingError(
                    f"unknown operation {quoted(word)}: expected one of {', '.join([*self._queries, *CHANGES])}, "
                    "or a change such as demand *= 1.1"
                )
        return self.change()

    @property
    def first_word(self) -> str:
        """Return the first word of the line, in lower case."""
        return self._tokens[0].text.casefold()

    def _names_target(self) -> bool:
        """Return True if the word here is the name of what an assignment changes."""
        return self._peek(1).is_sign("[", "(", ".", *ASSIGNS, *COMPARISONS)

    def change(self) -> ops.AnyChange:
        """Parse a change of the model."""
        token, is_verb = self._peek(), not self._names_target()
        if is_verb and token.is_word("forbid", "free", "drop"):
            self._at += 1
            return _verb(token.text.casefold(), self.reference())
        if is_verb and token.is_word("relax"):
            self._at += 1
            reference = self.reference()
            self._expect_word("by")
            return ops.RelaxChange(reference=reference, number=self.number(), percent=self._percent())
        if is_verb and token.is_word("row"):
            self._at += 1
            return self._new_row()
        if is_verb and token.is_word("objective"):
            self._at += 1
            return self._objective()
        return self._assignment()

    def _assignment(self) -> ops.AnyChange:
        target = self.target()
        sign = self._take_sign(*ASSIGNS, *COMPARISONS, expected="one of = += -= *= <= >=")
        if sign in COMPARISONS:
            if target.part != "value":
                self._fail("'=' after a bound or coefficient")
            return ops.LimitChange(
                reference=target.reference, relation=cast(Literal["<=", ">="], sign), number=self.number()
            )
        operator = cast(Literal["=", "+=", "-=", "*="], sign)
        return ops.AssignChange(target=target, operator=operator, number=self.number(), percent=self._percent())

    def _new_row(self) -> ops.NewRow:
        name = self._name("a name for the row")
        self._take_sign(":", expected="':' after the name of the row")
        left = self.expression()
        relation = self._take_sign("<=", ">=", "=", expected="one of <= >= =")
        return ops.NewRow(name=name, left=left, relation=Relation(relation), right=self.expression())

    def _objective(self) -> ops.NewObjective | ops.UseObjectives:
        name, after = "objective", self._peek(1)
        if not self._peek().is_word("minimize", "maximize"):
            if not after.is_sign(":"):
                return self._use_objectives()
            name = self._name("a name, minimize or maximize")
            self._take_sign(":", expected="':' after the name of the objective")
        if not self._peek().is_word("minimize", "maximize"):
            self._fail("minimize or maximize")
        sense = Sense(self._next().text.casefold())
        return ops.NewObjective(name=name, sense=sense, expression=self.expression())

    def _use_objectives(self) -> ops.UseObjectives:
        stages = [self._objective_stage()]
        while self._peek().is_word("then"):
            self._at += 1
            stages.append(self._objective_stage())
        return ops.UseObjectives(stages=tuple(stages))

    def _objective_stage(self) -> ops.ObjectiveStage:
        parts = self._list(self._weighted_objective, "+")
        if not self._peek().is_word("within"):
            return ops.ObjectiveStage(parts=parts)
        self._at += 1
        within = self.number()
        if not 0 <= within < float("inf"):
            raise ModellingError(f"within {within:g}: expected a number from 0 on; nothing was changed")
        return ops.ObjectiveStage(parts=parts, within=within, percent=self._percent())

    def _weighted_objective(self) -> ops.WeightedObjective:
        weight = 1.0
        if self._peek().kind is TokenKind.NUMBER:
            weight = float(self._next().text)
            if self._peek().is_sign("*"):
                self._at += 1
        name = self._name("the name of an objective")
        if not 0 < weight < float("inf"):
            raise ModellingError(f"weight {weight:g}: expected a number above 0; nothing was changed")
        return ops.WeightedObjective(name=name, weight=weight)

    def target(self) -> ops.ChangeTarget:
        """Parse the target of a change: a value, a bound or a coefficient."""
        token, after = self._peek(), self._peek(1)
        if not after.is_sign("("):
            return ops.ChangeTarget(reference=self.reference())
        name = self._name("a name")
        self._take_sign("(", expected="'('")
        reference = self.reference()
        self._take_sign(")", expected="')'")
        if token.is_word("upper", "lower"):
            return ops.ChangeTarget(part=cast(Literal["upper", "lower"], name.casefold()), reference=reference)
        return ops.ChangeTarget(part="coefficient", reference=reference, of=name)

    def reference(self) -> ops.MemberReference:
        """Parse a family or a slice of one."""
        kind: Literal["parameters", "variables", "rows"] | None = None
        first, after = self._peek(), self._peek(1)
        if first.is_word(*KINDS) and after.is_sign("."):
            kind = cast(Literal["parameters", "variables", "rows"], first.text.casefold())
            self._at += 2
        elif first.is_word(*KINDS):
            self._at += 1
            return ops.MemberReference(
                name="*", kind=cast(Literal["parameters", "variables", "rows"], first.text.casefold())
            )
        name = self._name("a name of variables, rows or data")
        if not self._peek().is_sign("["):
            return ops.MemberReference(name=name, kind=kind)
        self._at += 1
        indices = self._list(self._index, ",")
        self._take_sign("]", expected="',' or ']'")
        return ops.MemberReference(name=name, indices=indices, kind=kind)

    def _index(self) -> ops.Index:
        if self._peek().is_sign("*"):
            self._at += 1
            if not self._peek().is_word("except"):
                return ops.Index()
            self._at += 1
            return ops.Index(kind="except", labels=self._except_labels())
        if self._peek().is_sign("{"):
            self._at += 1
            labels = self._list(self._label, ",")
            self._take_sign("}", expected="',' or '}'")
            return ops.Index(kind="labels", labels=labels)
        label = self._label()
        if self._peek().is_sign(".."):
            self._at += 1
            return ops.Index(kind="range", labels=(label, self._label()))
        return ops.Index(kind="labels", labels=(label,))

    def _except_labels(self) -> tuple[str, ...]:
        """Parse the labels after ``except``: a list in braces, or all plain labels up to the next index."""
        if self._peek().is_sign("{"):
            self._at += 1
            in_braces = self._list(self._label, ",")
            self._take_sign("}", expected="',' or '}'")
            return in_braces
        labels = [self._label()]
        # A comma may also begin the next index. The labels of the set decide this when the reference is resolved.
        while self._peek().is_sign(",") and self._is_plain_label(self._at + 1):
            self._at += 1
            labels.append(self._label())
        return tuple(labels)

    def _is_plain_label(self, at: int) -> bool:
        is_label = self._tokens[at].kind in (TokenKind.WORD, TokenKind.NUMBER, TokenKind.STRING)
        return is_label and not self._tokens[at + 1].is_sign("..")

    def _label(self) -> str:
        token = self._next()
        if token.kind not in (TokenKind.WORD, TokenKind.NUMBER, TokenKind.STRING) or token.is_word("except"):
            self._at -= 1
            self._fail("a label (in double quotes if it has spaces or signs), '*', or '{'")
        return token.text

    def expression(self) -> ops.Expression:
        """Parse a sum of terms."""
        terms = [self._term(self._leading_sign())]
        while self._peek().is_sign("+", "-"):
            terms.append(self._term(self._leading_sign()))
        return ops.Expression(terms=tuple(terms))

    def _leading_sign(self) -> float:
        sign = 1.0
        while self._peek().is_sign("+", "-"):
            if self._next().text == "-":
                sign = -sign
        return sign

    def _term(self, sign: float) -> ops.ExpressionTerm:
        coefficient = sign
        if self._peek().kind is TokenKind.NUMBER:
            coefficient *= float(self._next().text)
            if self._peek().is_sign("*"):
                self._at += 1
            elif not self._begins_reference():
                return ops.ExpressionTerm(coefficient=coefficient)
        is_sum = self._peek().is_word("sum")
        if is_sum:
            self._at += 1
        reference, data = self.reference(), None
        if self._peek().is_sign("*"):
            self._at += 1
            data, reference = reference, self.reference()
        by: list[str] = []
        while is_sum and self._peek().is_word("by"):
            self._at += 1
            by.append(self._name("an index set"))
        return ops.ExpressionTerm(coefficient=coefficient, reference=reference, data=data, is_sum=is_sum, by=tuple(by))

    def _begins_reference(self) -> bool:
        """Return True if a reference or a sum follows a coefficient, as in ``2 x[a]``."""
        token = self._peek()
        return token.kind in (TokenKind.WORD, TokenKind.STRING) and not token.is_word("within", "by")

    def number(self) -> float:
        """Parse a number with its sign, or ``inf``."""
        sign = self._leading_sign()
        token = self._next()
        if token.is_word("inf"):
            return sign * float("inf")
        if token.kind is not TokenKind.NUMBER:
            self._at -= 1
            self._fail("a number")
        return sign * float(token.text)

    def _percent(self) -> bool:
        if self._peek().is_sign("%"):
            self._at += 1
            return True
        return False

    def _top(self) -> ops.TopRequest:
        sign = -1 if self._peek().is_sign("-") else 1
        if sign < 0:
            self._at += 1
        count = self._count()
        reference = self.reference()
        return ops.TopRequest(count=sign * count, reference=reference, by=self._by_name() or "value")

    def _extreme(self, direction: Literal["most", "least"]) -> ops.ExtremeRequest:
        expression = self.expression()
        within, percent = None, False
        if self._peek().is_word("within"):
            self._at += 1
            within = self.number()
            percent = self._percent()
        return ops.ExtremeRequest(direction=direction, expression=expression, within=within, percent=percent)

    def _price(self) -> ops.PriceRequest:
        reference = self.reference()
        if not self._peek().is_word("by"):
            return ops.PriceRequest(reference=reference)
        self._at += 1
        return ops.PriceRequest(reference=reference, step=self.number())

    def _sweep(self) -> ops.SweepRequest:
        target = self.target()
        self._take_sign("=", expected="'='")
        return ops.SweepRequest(target=target, numbers=self._list(self.number, ","))

    def _repair(self) -> ops.RepairRequest:
        references = []
        while not self._is_end():
            references.append(self.reference())
            if self._peek().is_sign(","):
                self._at += 1
        return ops.RepairRequest(references=tuple(references))

    def _frontier(self) -> ops.FrontierRequest:
        first, second = self._name("an objective"), self._name("an objective")
        if self._is_end():
            return ops.FrontierRequest(first=first, second=second)
        return ops.FrontierRequest(first=first, second=second, count=self._count())

    def _verify(self) -> ops.VerifyRequest:
        file = self._string("a file in double quotes")
        if self._is_end():
            return ops.VerifyRequest(file=file)
        count = self._count()
        if count > MAX_TRIALS:
            raise ModellingError(f"{count} trials: expected at most {MAX_TRIALS}")
        return ops.VerifyRequest(file=file, trials=count)

    def _optional_reference(self) -> ops.MemberReference | None:
        if self._is_end():
            return None
        return self.reference()

    def _by_name(self) -> str | None:
        if not self._peek().is_word("by"):
            return None
        self._at += 1
        return self._name("a name after by")

    def _count(self) -> int:
        token = self._next()
        if token.kind is not TokenKind.NUMBER or not token.text.isdigit() or len(token.text) > 9:
            self._at -= 1
            self._fail("a whole number")
        return int(token.text)

    def _name(self, what: str) -> str:
        token = self._next()
        if token.kind not in (TokenKind.WORD, TokenKind.STRING) or not token.text or token.is_word(*KEYWORDS):
            self._at -= 1
            if token.is_word(*KEYWORDS):
                what += f" ('{token.text}' is a word of the syntax: write a name \"{token.text}\" in double quotes)"
            self._fail(what)
        return token.text

    def _string(self, what: str) -> str:
        token = self._next()
        if token.kind is not TokenKind.STRING:
            self._at -= 1
            self._fail(what)
        return token.text

    def _list(self, item: Callable[[], Item], separator: str) -> tuple[Item, ...]:
        items = [item()]
        while self._peek().is_sign(separator):
            self._at += 1
            items.append(item())
        return tuple(items)

    def _expect_word(self, word: str) -> None:
        if not self._next().is_word(word):
            self._at -= 1
            self._fail(word)

    def _take_sign(self, *signs: str, expected: str) -> str:
        token = self._next()
        if not token.is_sign(*signs):
            self._at -= 1
            self._fail(expected)
        return token.text

    def _peek(self, ahead: int = 0) -> Token:
        return self._tokens[min(self._at + ahead, len(self._tokens) - 1)]

    def _next(self) -> Token:
        token = self._tokens[self._at]
        if token.kind is not TokenKind.END:
            self._at += 1
            return token
        # The callers step back to the token that they report.
        self._at += 1
        self._tokens = [*self._tokens, token]
        return token

    def _is_end(self) -> bool:
        return self._peek().kind is TokenKind.END

    def expect_end(self) -> None:
        """Raise an error unless the line is used up."""
        if not self._is_end():
            self._fail("the end of the line")

    def _fail(self, expected: str) -> NoReturn:
        token = self._peek()
        if token.kind is TokenKind.END:
            where = "the line ends too early"
        else:
            where = f"'{plain(self._line[token.start :], 40)}' (character {token.start + 1}) cannot be read there"
        raise ModellingError(f"{where}: expected {expected}; nothing was changed")
