"""Settings of the strategy ``or_agent``. The defaults are those of its published study, as far as it names any."""

from dataclasses import field
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le
from pydantic.dataclasses import dataclass

from oragent._base.settings import STRICT

Temperature = Annotated[float, Ge(0), Le(2)] | None


@dataclass(frozen=True, config=STRICT)
class Temperatures:
    """Sampling temperature of the role, 0 to 2; None: the model's setting."""

    lead: Temperature = 1.0
    idea: Temperature = 1.3
    code: Temperature = 1.0
    experiment: Temperature = 1.0
    reflect: Temperature = 1.0


@dataclass(frozen=True, config=STRICT)
class AgentSettings:
    """One research round.

    Attributes:
        rounds: ``tree``: a round grows a tree of ideas, as in the study. ``actions``: a round is one action, chosen by
            gain per token; one call writes several programs. ``auto``: actions with the wording ``strong``.
        wave: Programs in the first call of ``actions``.
        programs: Programs in each later call of ``actions``.
        initial_ideas: Ideas of the first round, which are coded and repaired without experiments.
        idea_count: Number of ideas: at most as many as the ``budget`` can code, or always the number in these
            ``settings``, as in the study.
        ideas: ``coordinated``: one call writes the different ideas for a leaf. ``independent``: one call each.
        plans: Form of an idea: ``brief`` (a change of a few lines), ``detailed`` (a plan, as in the study), or ``auto``
            (by the wording).
        docstrings: Programs state their idea in the docstring, as in the study; otherwise only the archive keeps it.
        parents: Programs at the root of a crossover round.
        parents_from: Draw each of them from any of the ``islands``, or all from one ``island``, as in the study.
        children: Ideas for each leaf that is opened.
        crossover_ideas: Ideas at the root of a crossover round; None: as for any leaf. 1 in the study.
        depth: Depth of the tree; the root has depth 0.
        root_children: Children of the root that may get children: ``all`` with a score, as published, or those
            ``better`` than the root.
        root_retries: Requests for other ideas if no child of the root has a score. 4 in the study.
        root_debugging: Further repairs of a child of the root without a score after its experiments.
        experiments: Experiments on one solution, at most; with ``flow`` on average for the ideas of a leaf.
        allocation: ``even``: the same number of experiments for each solution, as in the study. ``flow``: in turns,
            more for those that gained in the turn before.
        experiments_most: Most experiments on one solution by ``flow``.
        from_failure: Start experiments from a program that fails after its repairs: ``never``, after a ``timeout``, or
            ``always``, as in the study.
        debugging: Repairs of a failing program, at most.
        timeout_repaired: Repair a program of ``actions`` once if it ran out of time after this share of the instances;
            None: no such repair.
        tuning_evaluations: Evaluations of one tuning of constants; 0: no tuning.
        instrument: Experiments may observe an evaluation by its hooks.
        leaves_only: Only leaves of a finished tree enter the archive, as in the study; otherwise all with a score.
        elitist_period: Every so many rounds the root is the best program alone, first in the round after the opening.
        elitist_enlargement: Factor on the ideas at the root of such a round, rounded down.
        opening_counts: The opening counts as the first elitist round; the next is the one whose number the period
            divides.
        fast_crossover: Crossover rounds end at depth 1.
        reflection_calls: Lessons of experiments: by a call of their ``own``, or in the ``same`` reply as the next
            experiment, as in the study; ``auto``: own calls for small models.
        reflection: Rewrite the memory after enough reports and before elitist rounds (``period``), or before and after
            elitist rounds only (``elitist``), as in the study.
        reflection_period: Reports after which the memory is rewritten.
        memory_words: Words of the memory, at most; None: no limit, as in the study.
        memory_in_crossover: Show the memory in crossover rounds; false in the study.
        selection_temperature: Mean temperature of the draw of parents over a cycle; unit: the step from the median to
            the best score.
        temperature_cycle: Rounds (or programs of the island) in which the temperature falls from twice its mean to
            almost 0.
        temperature_by: Lower it with every ``round``, or with every program of the parents' ``island``, as in the
            study.
        temperatures: Sampling temperature of each role.
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
    allocation: Literal["even", "flow"] = "flow"
    experiments_most: Annotated[int, Ge(0)] = 16
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
    reflection_calls: Literal["auto", "own", "same"] = "auto"
    reflection: Literal["period", "elitist"] = "period"
    reflection_period: Annotated[int, Ge(1)] = 10
    memory_words: Annotated[int, Ge(20)] | None = 300
    memory_in_crossover: bool = True
    selection_temperature: Annotated[float, Gt(0)] = 0.5
    temperature_cycle: Annotated[int, Ge(1)] = 10
    temperature_by: Literal["round", "island"] = "round"
    temperatures: Temperatures = field(default_factory=Temperatures)
