"""The settings of the strategy ``or_agent``; the defaults are those of its published study where it names any."""

from dataclasses import field
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le
from pydantic.dataclasses import dataclass

from oragent._base.settings import STRICT

Temperature = Annotated[float, Ge(0), Le(2)] | None


@dataclass(frozen=True, config=STRICT)
class Temperatures:
    """Sampling temperature of each role, 0 to 2; None: as the model's own settings have it."""

    lead: Temperature = 1.0
    idea: Temperature = 1.3
    code: Temperature = 1.0
    experiment: Temperature = 1.0
    reflect: Temperature = 1.0


@dataclass(frozen=True, config=STRICT)
class AgentSettings:
    """One research round.

    Attributes:
        rounds: Whether a round grows a ``tree`` of ideas, as in the study, or is one of several ``actions`` of ours,
            chosen by what each gained for its tokens: one call writes several programs, or none and numbers are swept.
            ``auto``: actions for a model with the wording ``strong``.
        wave: Number of programs that the first call of ``actions`` writes.
        programs: Number of programs that each later call of ``actions`` writes.
        initial_ideas: Number of ideas of the first round, which only fills the archive: coded, debugged, not
            experimented on.
        idea_count: Whether no more ideas are asked for than the ``budget`` can code, and rounds that begin beside the
            opening are small, or there are always as many as these ``settings`` say, as in the study.
        ideas: Whether the ideas for a leaf come ``coordinated``, by one call that sees to it that they differ, or
            ``independent``, by a call for each that knows nothing of the others.
        plans: How an idea is put: a ``brief`` change in a few lines of code, a ``detailed`` plan, as in the study, or
            ``auto``: by the wording that suits the model.
        docstrings: Whether a program says its idea in its docstring, and programs are shown with theirs, as in the
            study; otherwise the archive alone keeps the idea, and whoever writes copies no text.
        parents: Number of programs at the root of a round that does not start from the elitist.
        parents_from: Whether each of them is drawn from any of the ``islands``, or all from one ``island``, as in the
            study, where what starts from the elitist belongs to the island of that.
        children: Number of ideas for each leaf that is opened.
        crossover_ideas: Number of ideas at the root of a round that does not start from the elitist; None: as many as
            for any leaf. 1 in the study.
        depth: Depth of the tree; the root has depth 0.
        root_children: Whether ``all`` children of the root that have a score may get children, as published, or those
            ``better`` than the root alone. Below the root it is always the better ones.
        root_retries: Number of times that new ideas are asked for where no child of the root has a score. 4 in the
            study, whose runs end there.
        root_debugging: Most further repairs of a child of the root that has no score after its experiments.
        experiments: Most experiments on one solution; with ``dynamic`` allocation what one gets that is neither here
            nor there, with ``flow`` what the ideas for one leaf have on average.
        allocation: Whether every solution gets as many experiments, one after the other (``even``, as in the study's
            runs); or by rules of ours more where it gained, as the paper has the thought and no rule: ``dynamic``, by
            what it gained when it was coded; ``flow``, in turns, in each by what it gained in the turn before.
        experiments_least: Fewest that the rule of ``dynamic`` leaves to a solution.
        experiments_most: Most that a rule gives to one.
        elite_factor: Factor of the rule of ``dynamic`` for a solution that gained much, or is better than the best of
            all; one that lost has so much less.
        gain_threshold: Gain over the best parent, as a share of that one's score, that is much.
        from_failure: Whether experiments start from a program that still fails after its repairs: ``never``, after a
            ``timeout``, which teaches something about the program, or ``always``, as in the study.
        debugging: Most repairs of a program that fails: each gets its error back.
        timeout_repaired: Share of the instances from which on a program of ``actions`` that ran out of time is repaired
            once; None: none is, as in earlier versions.
        tuning_evaluations: Number of evaluations that one tuning of constants takes; 0: constants are not tuned.
        instrument: Whether experiments may watch an evaluation by its hooks, where it offers any.
        leaves_only: Whether the leaves of a finished tree alone enter the archive, as in the study, or all that has a
            score.
        elitist_period: Period, in rounds, at which the root is the elitist alone. The first such round is the first
            that sees the archive which the opening filled.
        elitist_enlargement: Factor on the number of ideas at the root of such a round; what is no whole number is cut.
        opening_counts: Whether the opening counts as the first of these rounds, so that the next one is that whose
            number the period divides: as earlier versions had it.
        fast_crossover: Whether rounds that do not start from the elitist end at depth 1.
        tree: Rule by which the next leaf is chosen: the best one, or by PUCT, which also visits neglected branches.
        exploration: Weight of what is neglected, for PUCT.
        reflection_calls: How lessons of single experiments are asked for: by calls of their ``own``, or in the ``same``
            reply as the next experiment, as in the study; ``auto``: by calls of their own of a small model alone.
        reflection: When the long-term memory is rewritten: once enough reports have come together and at the start of
            a round from the elitist (``period``), or at the start and at the end of such a round alone (``elitist``),
            as in the study.
        reflection_period: Number of reports that the long-term memory has not taken in, from which on it is rewritten.
        memory_words: Length of the long-term memory in words, beyond which it is compressed; None: any, as in the
            study.
        memory_in_crossover: Whether rounds that do not start from the elitist are told the long-term memory; not in the
            study.
        selection_temperature: Temperature of the draw of parents, in units of the step from the median score to the
            best; the mean over a cycle.
        temperature_cycle: Number of rounds in which the temperature falls from twice its mean to nearly nothing, and
            starts anew; where it goes by the island, the number of programs.
        temperature_by: Whether it falls with every ``round``, or with every program that was added to the ``island``
            that parents are drawn from, as in the study.
        temperatures: Sampling temperatures of the model, one for each role.
    """

    rounds: Literal["auto", "tree", "actions"] = "auto"
    wave: Annotated[int, Ge(1)] = 4
    programs: Annotated[int, Ge(1)] = 3
    initial_ideas: Annotated[int, Ge(1)] = 20
    idea_count: Literal["budget", "settings"] = "budget"
    ideas: Literal["coordinated", "independent"] = "coordinated"
    plans: Literal["auto", "brief", "detailed"] = "auto"
    docstrings: bool = False
    parents: Annotated[int, Ge(1)] = 2
    parents_from: Literal["islands", "island"] = "islands"
    children: Annotated[int, Ge(1)] = 2
    crossover_ideas: Annotated[int, Ge(1)] | None = None
    depth: Annotated[int, Ge(1)] = 3
    root_children: Literal["all", "better"] = "all"
    root_retries: Annotated[int, Ge(0)] = 0
    root_debugging: Annotated[int, Ge(0)] = 0
    experiments: Annotated[int, Ge(0)] = 8
    allocation: Literal["even", "dynamic", "flow"] = "flow"
    experiments_least: Annotated[int, Ge(0)] = 1
    experiments_most: Annotated[int, Ge(0)] = 16
    elite_factor: Annotated[float, Ge(1)] = 2.0
    gain_threshold: Annotated[float, Ge(0)] = 0.05
    from_failure: Literal["never", "timeout", "always"] = "timeout"
    debugging: Annotated[int, Ge(0)] = 2
    timeout_repaired: Annotated[float, Gt(0), Le(1)] | None = 0.5
    tuning_evaluations: Annotated[int, Ge(0)] = 24
    instrument: bool = True
    leaves_only: bool = False
    elitist_period: Annotated[int, Ge(1)] = 11
    elitist_enlargement: Annotated[float, Ge(1)] = 2.0
    opening_counts: bool = False
    fast_crossover: bool = False
    tree: Literal["best-first", "puct"] = "best-first"
    exploration: Annotated[float, Ge(0)] = 1.0
    reflection_calls: Literal["auto", "own", "same"] = "auto"
    reflection: Literal["period", "elitist"] = "period"
    reflection_period: Annotated[int, Ge(1)] = 10
    memory_words: Annotated[int, Ge(20)] | None = 300
    memory_in_crossover: bool = True
    selection_temperature: Annotated[float, Gt(0)] = 0.5
    temperature_cycle: Annotated[int, Ge(1)] = 10
    temperature_by: Literal["round", "island"] = "round"
    temperatures: Temperatures = field(default_factory=Temperatures)
