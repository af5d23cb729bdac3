"""Families from names: by patterns of a file of corrections, and in the style of Pyomo."""

import itertools
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.errors import ModellingError
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective, Row, Variable
from oragent.modelling.data.model_values import Relation, Sense
from oragent.modelling.data.names import FamilyCorrections, group_by_names, read_corrections
from oragent.modelling.files.model_files import read_indexed
from oragent.modelling.operations.session import ModelSession

LABELS = st.lists(st.text("abcé_-. 13", min_size=1, max_size=5).map(str.strip).filter(bool), min_size=1, max_size=3)


def model_of(names: list[str], row_names: list[str], **corrections: object) -> IndexedModel:
    milp = IndexedModel.from_records(
        tuple(Variable(name, 0.0, 9.0) for name in names),
        tuple(Row(name, {names[0]: 1.0}, Relation.AT_MOST, 3.0) for name in row_names),
        Objective({names[0]: 1.0}),
        Sense.MAXIMIZE,
    )
    return group_by_names(milp, FamilyCorrections(**corrections))


def keys_of(model: IndexedModel, name: str) -> list[tuple[str, ...]]:
    """The labels of each member of a family, in the order of the members."""
    labels_of = {index_set.name: index_set.labels for index_set in model.sets}
    (family,) = (family for family in model.families() if family.name == name)
    return [
        tuple(labels_of[of_set][place] for of_set, place in zip(family.sets, key, strict=True))
        for key in family.keys.tolist()
    ]


@given(
    st.lists(st.text("ab3é", min_size=1, max_size=4), min_size=1, max_size=3, unique=True),
    st.lists(st.text("ab3 .", min_size=1, max_size=4).map(str.strip).filter(bool), min_size=1, max_size=3, unique=True),
)
def test_labels_without_the_separator_are_read_as_they_were_written(towns: list[str], weeks: list[str]) -> None:
    pairs = list(itertools.product(towns, weeks))
    names = [f"ship {town} → {week}" for town, week in pairs] + [f"open {town}" for town in towns]
    rows = [f"c_e_meet({town}_{week})_" for town, week in pairs] + [f"c_e_cap({town}_{weeks[0]})_" for town in towns]
    model = model_of(
        names, rows, variables=["ship {town} → {week}", "open {town}"], rows=["c_e_{name}({town}_{week})_"]
    )
    assert keys_of(model, "ship") == keys_of(model, "meet") == pairs
    assert keys_of(model, "open") == [(town,) for town in towns]
    assert keys_of(model, "cap") == [(town, weeks[0]) for town in towns]
    assert {index_set.name: set(index_set.labels) for index_set in model.sets} == {
        "town": set(towns),
        "week": set(weeks),
    }
    assert not any(index_set.is_guessed for index_set in model.sets)


def test_labels_with_the_separator_are_split_by_what_other_names_have() -> None:
    depots, towns, weeks = ["Lyon", "Saint__tienne"], ["Paris", "B_310", "Nice"], ["1", "2"]
    keys = list(itertools.product(depots, towns, weeks))
    names = [f"open({depot})" for depot in depots] + [f"ship({'_'.join(key)})" for key in keys] + ["total"]
    rows = [f"c_l_need({town}_{week})_" for town in towns for week in weeks] + [f"c_u_cap({d})_" for d in depots]
    rows.append("c_e_sum_")
    guessed = model_of(names, rows)
    named = model_of(
        names,
        rows,
        variables=["open({depot})", "ship({depot}_{town}_{week})"],
        rows=["c_l_{name}({town}_{week})_"],
    )
    for model in (guessed, named):
        assert keys_of(model, "ship") == keys
        assert keys_of(model, "need") == list(itertools.product(towns, weeks))
        assert [(family.name, len(family)) for family in model.rows] == [("need", 6), ("cap", 2), ("sum", 1)]
        assert model.flat_rows == tuple(rows)
        assert model.flat_columns == tuple(names)
    assert {index_set.name for index_set in named.sets} == {"depot", "town", "week"}


@given(LABELS, LABELS)
def test_every_name_that_a_pattern_made_is_split_into_texts_that_make_it(first: list[str], second: list[str]) -> None:
    names = list(dict.fromkeys(f"x({one}_{other})" for one, other in itertools.product(first, second)))
    model = model_of(names, [], variables=["x({one}_{other})"])
    assert [f"x({one}_{other})".replace(" ", "") for one, other, *_ in keys_of(model, "x")] == [
        name.replace(" ", "") for name in names
    ]


def test_of_several_splits_the_first_labels_are_the_shortest_unless_others_have_longer_ones() -> None:
    assert keys_of(model_of(["x(a_b_c)"], [], variables=["x({one}_{two})"]), "x") == [("a", "b_c")]
    names = ["x(a_b_c)", "y(a_b)"]
    assert keys_of(model_of(names, [], variables=["x({one}_{two})", "y({one})"]), "x") == [("a_b", "c")]


@pytest.mark.parametrize(
    "pattern", ["open", "{depot}", "open {}", "open {depot}{town}", "{name} {name} {depot}", "shut {depot}", "{name}"]
)
def test_a_pattern_that_names_no_family_is_refused(pattern: str) -> None:
    with pytest.raises(ModellingError):
        model_of(["open Lyon"], [], variables=[pattern])


def test_patterns_with_one_beginning_and_different_labels_are_families_of_their_own() -> None:
    names = ["ship a → b", "ship a → c", "ship b ⇒ a"]
    model = model_of(names, [], variables=["ship {depot} → {town}", "ship {town} ⇒ {depot}"])
    assert keys_of(model, "ship") == [("a", "b"), ("a", "c")]
    assert keys_of(model, "ship2") == [("b", "a")]
    assert {index_set.name: set(index_set.labels) for index_set in model.sets} == {"depot": {"a"}, "town": {"b", "c"}}


def test_a_correction_renames_one_set() -> None:
    names = ["z[k,a]", "z[q,b]", "w[r]", "w[s]"]
    for corrections in ({"set1": "depot"}, {"set2": "depot"}, {"set1": "set2", "set2": "set1"}):
        model = model_of(names, [], sets=corrections)
        assert [index_set.name for index_set in model.sets] == [
            corrections.get(name, name) for name in ("set1", "set2", "set3")
        ]
        assert keys_of(model, "z") == [("k", "a"), ("q", "b")]
    with pytest.raises(ModellingError):
        model_of(names, [], sets={"set1": "depot", "set3": "depot"})


def test_names_with_many_splits_are_read_at_once() -> None:
    parts = [[f"a{number}{place}" for place in range(20)] for number in range(50)]
    rows = [f"c_e_need({'_'.join(part)})_" for part in [*parts, parts[0][:10]]]
    model = model_of(["x"], rows)
    assert ["_".join(key) for key in keys_of(model, "need")] == ["_".join(part) for part in [*parts, parts[0][:10]]]
    names = ["x" + " a" * 200 + "!", "x a b c d e y", "x " + "a_" * 30_000]
    model = model_of(names, [], variables=["x {a} {b} {c} {d} {e} y"])
    assert keys_of(model, "x") == [("a", "b", "c", "d", "e")]


@pytest.mark.parametrize(("most", "count"), [(5, 2), (4, 1)])
def test_labels_are_tried_up_to_a_number_of_characters(most: int, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oragent.modelling.data.names.MAX_CHARACTERS", most)
    model = model_of(["x a bc", "x d e"], [], variables=["x {town} {week}"])
    assert keys_of(model, "x") == [("a", "bc"), ("d", "e")][:count]
    assert len(model.variables) == 3 - count


@pytest.mark.parametrize(
    ("model", "file", "is_read"),
    [
        ("plan.v2.lp", "plan.v2.families.yaml", True),
        ("plan.v2.lp", "plan.v2.lp.families.yaml", True),
        ("plan.v2.lp.gz", "plan.v2.families.yaml", True),
        ("plan.mps.bz2", "plan.families.yaml", True),
        ("plan.v2.lp", "plan.families.yaml", False),
    ],
)
def test_corrections_of_another_model_are_not_taken(model: str, file: str, is_read: bool, tmp_path: Path) -> None:
    (tmp_path / file).write_text("variables: ['open~{depot}']\n")
    assert bool(read_corrections(tmp_path / model).variables) is is_read


@pytest.mark.parametrize("file", ["lots.lp.families.yaml", "lots.families.yaml"])
@pytest.mark.parametrize("model", ["lots.lp", "lots.rlp"])
def test_corrections_are_found_with_and_without_the_ending_of_the_model(file: str, model: str, tmp_path: Path) -> None:
    (tmp_path / model).write_text("Minimize\n o: open~Lyon\nSubject To\n c: open~Lyon >= 1\nEnd\n")
    (tmp_path / file).write_text("variables: ['open~{depot}']\n")
    is_named = file.removesuffix(".families.yaml") in (model, "lots")
    assert bool(read_corrections(tmp_path / model).variables) is is_named
    names = {index_set.name for index_set in read_indexed(tmp_path / model).sets}
    assert names == ({"depot"} if is_named else set())


def test_a_file_of_pyomo_with_labels_of_all_kinds(tmp_path: Path) -> None:
    p = pytest.importorskip("pyomo.environ")
    model = p.ConcreteModel()
    model.ship = p.Var(["Lyon", "Nantes"], ["Paris", "B_310", "Nice"], [1, 2], bounds=(0, 9))
    model.need = p.Constraint(
        ["Paris", "B_310", "Nice"], [1, 2], rule=lambda m, town, week: m.ship["Lyon", town, week] >= 1
    )
    model.cost = p.Objective(expr=sum(model.ship.values()))
    model.write(os.fspath(tmp_path / "plan.lp"), io_options={"symbolic_solver_labels": True})
    read = read_indexed(tmp_path / "plan.lp")
    assert sorted(keys_of(read, "ship")) == sorted(
        (one, town, str(week)) for one in ("Lyon", "Nantes") for town in ("Paris", "B_310", "Nice") for week in (1, 2)
    )
    assert len(keys_of(read, "need")) == 6


def test_describe_names_the_labels_of_a_set_and_the_families_that_have_it() -> None:
    model = model_of(["open a", "open b", "x"], ["r a"], variables=["open {depot}"], rows=["r {depot}"])
    (result,) = ModelSession(model).run(["describe DEPOT"])
    assert [(info.name, info.labels) for info in result.sets] == [("depot", ("a", "b"))]
    assert [family.name for family in result.families] == ["open", "r"]


@pytest.mark.parametrize(("text", "key"), [("variables: 7", "variables"), ("row: [x]\nvariables: 7", "row")])
def test_a_wrong_file_of_corrections_names_its_key(text: str, key: str, tmp_path: Path) -> None:
    (tmp_path / "m.families.yaml").write_text(text)
    with pytest.raises(ModellingError) as refused:
        read_corrections(tmp_path / "m.lp")
    assert f".{key}:" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_file_of_corrections_is_a_text_of_limited_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "m.families.yaml"
    for content in (b"variables: [\xff]", b"variables: [x", b"- x: [\n\n", b"[" * 50_000):
        file.write_bytes(content)
        with pytest.raises(ModellingError) as refused:
            read_corrections(tmp_path / "m.lp")
        assert "\n" not in str(refused.value)
    file.write_text("separator: '.'")
    for most, is_read in ((14, True), (13, False)):
        monkeypatch.setattr("oragent.modelling.data.names.MAX_FILE_BYTES", most)
        if is_read:
            assert read_corrections(tmp_path / "m.lp").separator == "."
        else:
            with pytest.raises(ModellingError):
                read_corrections(tmp_path / "m.lp")
    file.write_text("")
    assert read_corrections(tmp_path / "m.lp") == FamilyCorrections()
