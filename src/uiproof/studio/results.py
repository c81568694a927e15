"""The results of a task: agreement of people, rates by model, and the judge beside the people.

    said = gather(store, task=1)
    for one in agreements(said):
        print(one.name, one.alpha)
    facts = read_facts(Path("runs"), said.items)
    print(task_results(said, facts).usability, machine_agreement(said, facts).metrics)

Each aspect of a label is looked at by itself: people can agree that an interaction is usable and
not on what is wrong with it. An item is settled by a decision, else by the most frequent label; a
tie is open. Scores are read from the journals of runs, never computed again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from statistics import fmean
from typing import Any, NamedTuple, cast

from uiproof.annotation import Annotation
from uiproof.benchmark import Metric
from uiproof.labels import (
    FACETS,
    NONE,
    OUTCOMES,
    SCALE,
    Choice,
    Item,
    Judgement,
    Label,
    LabelGroup,
    LabelValue,
    Outcome,
    PlacedLabel,
    Question,
    Task,
    facet_of,
)
from uiproof.stats.agreement import (
    Agreement,
    cohen_kappa,
    fleiss_kappa,
    krippendorff_alpha,
    majority,
    pairwise_kappa,
)
from uiproof.stats.correlation import Correlation, accuracy, rank_correlation
from uiproof.stats.intervals import (
    Interval,
    bounds,
    bounds_text,
    clustered_mean,
    clustered_rate,
    percent,
    share,
)
from uiproof.stats.ranking import Ranked, bradley_terry
from uiproof.studio.cases import Facts, annotation_of
from uiproof.studio.store import Store, decision_labels, labels
from uiproof.tables import MISSING, Table

_FACET_NAMES = {
    "usable": "usable or not",
    "failure": "main failure",
    "outcome": "win, tie or lose",
}
WHOLE_PAGE = "0"  # the number of the interaction for whole pages
_STEPS = {"lose": -1, "tie": 0, "win": 1}
_PRIOR_TIES = 0.5  # of every pair: keeps the strength of a method that won everything finite
_RANKING_NOTE = (
    "Strengths are log odds with a mean of 0. An item is one comparison, a tie half a win for "
    "each. Every pair counts half a tie more, so that a method that won everything has a finite "
    "strength. 95 % intervals: bootstrap over pages, none for fewer than eight."
)
_RESAMPLED = 1_000_000  # values drawn for the interval of each of many correlations

Rates = Mapping[tuple[str, ...], Interval]  # by model, prompt, and in comparisons the outcome


@dataclass(frozen=True, slots=True)
class TaskLabels:
    """A task with its current labels and decisions; people by their names."""

    task: Task
    items: tuple[Item, ...]
    labels: Mapping[int, Mapping[str, Label]]  # item -> name -> label
    decisions: Mapping[int, Label]
    names: Mapping[int, str]  # of all annotators of the studio

    @property
    def people(self) -> list[str]:
        """Return the names of those who have labelled something."""
        found = {name for by in self.labels.values() for name in by}
        return sorted(found, key=lambda name: (name.casefold(), name))

    @property
    def in_pairs(self) -> bool:
        """Return whether any two methods are compared, instead of all with one baseline."""
        return any(item.against for item in self.items)

    @property
    def n_labels(self) -> int:
        """Return the number of current labels."""
        return sum(map(len, self.labels.values()))

    def answers(self, key: str) -> dict[int, dict[str, Any]]:
        """Return what each person said about one aspect or question, by item."""
        given = {
            item: {name: facet_of(label.value, key) for name, label in by.items()}
            for item, by in self.labels.items()
        }
        return {item: {n: v for n, v in by.items() if v is not None} for item, by in given.items()}


@dataclass(frozen=True, slots=True)
class SettledItem:
    """The labels of one item, and what they come to; None for aspects on which people are tied."""

    item: Item
    labels: Mapping[str, Label]
    decision: Label | None
    answers: Mapping[str, Hashable | None]

    @property
    def open(self) -> bool:
        """Return whether an aspect is still to be decided."""
        return None in self.answers.values()

    def options(self) -> list[tuple[LabelValue, list[str]]]:
        """Return the different labels, each with its annotators, the most frequent first."""
        found: dict[tuple[Hashable, ...], tuple[LabelValue, list[str]]] = {}
        for name, label in self.labels.items():
            key = tuple(facet_of(label.value, facet) for facet in self.answers)
            found.setdefault(key, (label.value, []))[1].append(name)
        return sorted(found.values(), key=lambda option: (-len(option[1]), option[1]))


def gather(store: Store, task: int) -> TaskLabels:
    """Return the current labels and decisions of a task."""
    names = {person.id: person.name for person in store.annotators()}
    by_item: dict[int, dict[str, Label]] = {}
    for label in labels(store, task):
        by_item.setdefault(label.item, {})[names[label.annotator]] = label
    decided = {label.item: label for label in decision_labels(store, task)}
    return TaskLabels(store.task(task), tuple(store.items(task)), by_item, decided, names)


def settled_items(said: TaskLabels) -> list[SettledItem]:
    """Return the result of each item with a label or a decision, in the order of items."""
    found = []
    for item in said.items:
        decision, by = said.decisions.get(item.id), said.labels.get(item.id, {})
        given = [decision] if decision is not None else list(by.values())
        if given:
            answers = {
                facet: majority([facet_of(label.value, facet) for label in given])
                for facet in FACETS[said.task.kind]
            }
            found.append(SettledItem(item, by, decision, answers))
    return found


def disagreements(said: TaskLabels) -> list[SettledItem]:
    """Return the items with different labels, in the order of items, including decided ones."""
    return [one for one in settled_items(said) if len(one.options()) > 1]


# Agreement between people.


@dataclass(frozen=True, slots=True)
class FacetAgreement:
    """The agreement on one aspect of labels; intervals are over pages."""

    facet: str  # one of `FACETS`, or the key of a question
    name: str
    items: int  # with two or more labels
    split: int  # of these, with different labels
    percent: Interval | None  # of pairs of labels of one item that are the same
    fleiss: Agreement | None  # None for scales, whose labels differ by more or less
    alpha: Agreement | None
    ordinal: Agreement | None  # win and lose are further apart than either is from a tie
    pairs: Mapping[tuple[str, str], Agreement]  # Cohen's kappa; with squared weights for scales

    def as_json(self) -> dict[str, Any]:
        """Return the coefficients for other programs."""
        coefficients = {
            "fleiss_kappa": self.fleiss,
            "krippendorff_alpha": self.alpha,
            "krippendorff_alpha_ordinal": self.ordinal,
        }
        return {
            "facet": self.facet,
            "items": self.items,
            "split": self.split,
            "percent": _json(self.percent),
            **{name: one._asdict() for name, one in coefficients.items() if one is not None},
            "cohen_kappa": [
                {"annotators": list(names), **kappa._asdict()}
                for names, kappa in self.pairs.items()
            ],
        }


def agreements(said: TaskLabels) -> list[FacetAgreement]:
    """Return the agreement on every aspect and on every question but free text."""
    asked = [question.key for question in said.task.questions if question.kind != "text"]
    return [agreement(said, facet) for facet in (*FACETS[said.task.kind], *asked)]


def agreement(said: TaskLabels, facet: str) -> FacetAgreement:
    """Return the coefficients for one aspect, over all items with two or more labels of it."""
    question = next((one for one in said.task.questions if one.key == facet), None)
    scale = question is not None and question.kind == "scale"
    pages = {item.id: item.page for item in said.items}
    shared = {item: by for item, by in said.answers(facet).items() if len(by) > 1}
    rows = [list(by.values()) for by in shared.values()]
    clusters = [pages[item] for item in shared]
    order = SCALE if scale else tuple(_STEPS) if facet == "outcome" else None
    kappas = pairwise_kappa(
        {
            name: {item: by[name] for item, by in shared.items() if name in by}
            for name in said.people
        },
        weights="quadratic" if scale else None,
        order=SCALE if scale else None,
        clusters=pages,
    )
    same = [
        sum(row.count(label) - 1 for label in row) / (len(row) * (len(row) - 1)) for row in rows
    ]
    return FacetAgreement(
        facet=facet,
        name=_FACET_NAMES[facet] if question is None else question.ask,
        items=len(rows),
        split=sum(len(set(row)) > 1 for row in rows),
        percent=clustered_mean(same, clusters, within=(0.0, 1.0)),
        fleiss=None if scale else fleiss_kappa(rows, clusters=clusters),
        alpha=None if scale else krippendorff_alpha(rows, clusters=clusters),
        ordinal=krippendorff_alpha(rows, level="ordinal", order=order, clusters=clusters)
        if order
        else None,
        pairs={names: kappa for names, kappa in kappas.items() if kappa.n},
    )


# Rates and tables.


class Counts(NamedTuple):
    """The labelled and settled items of a task, counted."""

    items: int
    labelled: int  # items with a label or a decision
    labels: int
    people: int
    open: int  # labelled items with a tie
    disputed: int  # items with different labels
    settled: int  # items with a decision


@dataclass(frozen=True, slots=True)
class Ranking:
    """Methods that were compared in pairs, ranked; `problem` says why they cannot be."""

    ranked: tuple[Ranked[str], ...] = ()
    pairs: Mapping[tuple[str, str], tuple[float, int]] = field(default_factory=dict)  # wins, n
    problem: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return the ranking for other programs."""
        return {
            "methods": [one._asdict() for one in self.ranked],
            "pairs": [
                {"methods": list(names), "wins": wins, "n": n}
                for names, (wins, n) in self.pairs.items()
            ],
            "problem": self.problem,
        }


@dataclass(frozen=True, slots=True)
class QuestionResults:
    """The answers to one question, by model and prompt.

    A scale has the mean of its items, a choice the share of each option. Every item weighs the
    same, however many people have answered.
    """

    question: Question
    means: Mapping[tuple[str, str], Mapping[str, Interval]]  # by model and prompt; "mean" or option
    texts: tuple[tuple[Item, str, str], ...] = ()  # item, person and words

    def as_json(self) -> dict[str, Any]:
        """Return the answers for other programs; shares are fractions."""
        return {
            **self.question.as_json(),
            "answers": [
                {"model": model, "prompt": prompt, **{k: v._asdict() for k, v in of.items()}}
                for (model, prompt), of in self.means.items()
            ],
            "texts": [
                {"case": item.case, "model": item.model, "prompt": item.prompt, "by": by, "text": t}
                for item, by, t in self.texts
            ],
        }


@dataclass(frozen=True, slots=True)
class TaskResults:
    """The tables of one task; those without data are empty."""

    counts: Counts
    questions: tuple[QuestionResults, ...] = ()
    usability: Rates = field(default_factory=dict)
    implemented: Rates = field(default_factory=dict)
    comparisons: Rates = field(default_factory=dict)
    failures: Table | None = None
    categories: tuple[Table, ...] = ()
    published: tuple[Table, ...] = ()  # beside published figures, if these are such labels
    ranking: Ranking | None = None


def task_results(said: TaskLabels, facts: Facts | None = None) -> TaskResults:
    """Return every table of a task. `facts` of runs add the tables by category."""
    annotation = annotation_of(said.task.benchmark)
    found = settled_items(said)
    counts = Counts(
        items=len(said.items),
        labelled=len(found),
        labels=said.n_labels,
        people=len(said.people),
        open=sum(one.open for one in found),
        disputed=sum(len(one.options()) > 1 for one in found),
        settled=sum(one.decision is not None for one in found),
    )
    questions = question_results(said)
    if said.task.kind == "rate":
        return TaskResults(counts, questions)
    if said.in_pairs:
        return TaskResults(counts, questions, ranking=ranking(said))
    groups = label_groups(said.task, found, annotation)
    published = tuple(annotation.published_tables(groups))
    if said.task.kind == "compare":
        comparisons: dict[tuple[str, ...], Interval] = {}
        for group in groups:
            for outcome in OUTCOMES:
                if rate := _share(group.labels, partial(_is_outcome, outcome)):
                    comparisons[group.model, group.prompt, outcome] = rate
        return TaskResults(counts, questions, comparisons=comparisons, published=published)
    return TaskResults(
        counts,
        questions,
        usability=_rates(label_groups(said.task, found, annotation, partly=True), _is_usable),
        implemented=_rates(groups, lambda value: value.failure not in annotation.unimplemented)
        if annotation.unimplemented
        else {},
        failures=_failure_table(groups, annotation) if groups else None,
        categories=() if facts is None else category_tables(said, facts),
        published=published,
    )


def ranking(said: TaskLabels) -> Ranking:
    """Return the Bradley-Terry ranking of methods that were compared in pairs.

    An item is one comparison: its decision, or the mean of its labels with a tie as half a win.
    """
    rows: list[tuple[str, str, float, str]] = []
    pairs: dict[tuple[str, str], tuple[float, int]] = {}
    for item in said.items:
        decision, by = said.decisions.get(item.id), said.labels.get(item.id, {})
        given = [decision] if decision is not None else list(by.values())
        if not given:
            continue
        score = (1 + fmean(_STEPS[str(facet_of(one.value, "outcome"))] for one in given)) / 2
        rows.append((item.method, item.against, score, item.page))
        names = (item.method, item.against)
        for key, points in ((names, score), (names[::-1], 1 - score)):
            wins, n = pairs.get(key, (0.0, 0))
            pairs[key] = wins + points, n + 1
    first, second, scores, pages = zip(*rows, strict=True) if rows else ((), (), (), None)
    try:
        ranked = bradley_terry(first, second, scores, prior=_PRIOR_TIES, clusters=pages)
    except ValueError as error:
        return Ranking(pairs=pairs, problem=f"There is no ranking yet: {error}.")
    order = {one.name: place for place, one in enumerate(ranked)}
    ordered = dict(sorted(pairs.items(), key=lambda one: [order[name] for name in one[0]]))
    return Ranking(tuple(ranked), ordered)


def question_results(said: TaskLabels) -> tuple[QuestionResults, ...]:
    """Return the answers to each question of a task, by model and prompt."""
    annotation = annotation_of(said.task.benchmark)
    groups: dict[tuple[str, str], list[Item]] = {}
    for item in said.items:
        groups.setdefault((item.model, item.prompt), []).append(item)
    ordered = sorted(groups.items(), key=lambda group: annotation.order(*group[0]))
    found = []
    for question in said.task.questions:
        given = said.answers(question.key)
        if question.kind == "text":
            texts = [(i, by, str(t)) for i in said.items for by, t in given.get(i.id, {}).items()]
            found.append(QuestionResults(question, {}, tuple(texts)))
            continue
        means = {}
        for names, items in ordered:
            some = [(item.page, given[item.id].values()) for item in items if given.get(item.id)]
            if some:
                means[names] = _answer_means(question, some)
        found.append(QuestionResults(question, means))
    return tuple(found)


def _answer_means(
    question: Question, items: Sequence[tuple[str, Iterable[Any]]]
) -> dict[str, Interval]:
    """Return the mean of a scale, or the share of each option; intervals are over pages."""
    pages = [page for page, _ in items]
    if question.kind == "scale":
        means = [fmean(given) for _, given in items]
        found = {"mean": clustered_mean(means, pages, within=(SCALE[0], SCALE[-1]))}
    else:
        shares = {
            option: [fmean(said == option for said in given) for _, given in items]
            for option in question.options
        }
        found = {
            option: clustered_mean(values, pages, within=(0.0, 1.0))
            for option, values in shares.items()
        }
    return {name: one for name, one in found.items() if one is not None}


def category_tables(said: TaskLabels, facts: Facts) -> tuple[Table, ...]:
    """Return usability by category, as far as the records of runs have categories."""
    if said.task.kind != "judge":
        return ()
    annotation = annotation_of(said.task.benchmark)
    categories = {
        (item.page, item.interaction or WHOLE_PAGE): known.categories
        for item in said.items
        if (known := facts.of(item)) is not None and any(known.categories.values())
    }
    groups = label_groups(said.task, settled_items(said), annotation, partly=True)
    return tuple(annotation.category_tables(groups, categories))


def results_json(said: TaskLabels, facts: Facts | None = None) -> dict[str, Any]:
    """Return task, tables and agreement as one JSON object; rates are fractions."""
    task, found = said.task, task_results(said, facts)
    return {
        "task": {"id": task.id, "kind": task.kind, "title": task.title, "people": said.people},
        "counts": found.counts._asdict(),
        **{
            name: [
                {
                    **dict(zip(("model", "prompt", "outcome"), names, strict=False)),
                    **{"n": one.n, "rate": one.mean, "low": one.low, "high": one.high},
                }
                for names, one in getattr(found, name).items()
            ]
            for name in ("usability", "implemented", "comparisons")
        },
        "failures": None if found.failures is None else asdict(found.failures),
        "categories": [asdict(table) for table in found.categories],
        "ranking": None if found.ranking is None else found.ranking.as_json(),
        "questions": [one.as_json() for one in found.questions],
        "agreement": [one.as_json() for one in agreements(said)],
    }


def label_groups(
    task: Task, found: Iterable[SettledItem], annotation: Annotation, *, partly: bool = False
) -> list[LabelGroup]:
    """Return the settled labels by model and prompt; open items are left out.

    `partly` keeps items of which only the failure is open, for tables of usability alone.
    """
    groups: dict[tuple[str, str], list[PlacedLabel]] = {}
    for one in found:
        value: LabelValue
        if one.answers[FACETS[task.kind][0]] is None or (one.open and not partly):
            continue
        if task.kind == "compare":
            value = Choice(cast(Outcome, one.answers["outcome"]))
        else:
            value = Judgement(one.answers["usable"] is True, str(one.answers["failure"] or NONE))
        item = one.item
        placed = PlacedLabel(item.page, item.interaction or WHOLE_PAGE, value)
        groups.setdefault((item.model, item.prompt), []).append(placed)
    names = sorted(groups, key=lambda name: annotation.order(*name))
    return [LabelGroup(task.kind, *name, tuple(groups[name])) for name in names]


def _is_outcome(outcome: Outcome, value: Any) -> bool:
    return bool(value.outcome == outcome)


def _is_usable(value: Any) -> bool:
    return bool(value.usable)


def _rates(groups: Iterable[LabelGroup], test: Callable[[Any], bool]) -> Rates:
    shares = {(group.model, group.prompt): _share(group.labels, test) for group in groups}
    return {names: rate for names, rate in shares.items() if rate is not None}


def _share(placed: Sequence[PlacedLabel], test: Callable[[Any], bool]) -> Interval | None:
    return clustered_rate([test(one.value) for one in placed], [one.page for one in placed])


def _failure_table(groups: Sequence[LabelGroup], annotation: Annotation) -> Table:
    """Return how often each failure was seen, by model, and how many of its items are usable."""
    by_model: dict[str, list[PlacedLabel]] = {}
    for group in groups:
        by_model.setdefault(group.model, []).extend(group.labels)
    every = [one for group in groups for one in group.labels]
    rows = []
    for letter in (NONE, *annotation.failures):

        def has(value: Any, letter: str = letter) -> bool:
            return bool(value.failure == letter)

        chosen = [one for one in every if has(one.value)]
        usable = _share(chosen, _is_usable)
        name = "no failure" if letter == NONE else f"({letter}) {annotation.failures[letter].name}"
        shares = [percent(_share(some, has)) for some in (every, *by_model.values())]
        rows.append((name, f"{len(chosen):,}", *shares, percent(usable), bounds(usable)))
    return Table(
        annotation.failure_title,
        ("Failure", "n", "all %", *(f"{model} %" for model in by_model), "usable %", "95 %"),
        tuple(rows),
        ("Shares of a model's interactions, all its prompts together.",),
    )


# The judge beside the people.


class Verifier(NamedTuple):
    """The agreement of the judge with people about usability and failures."""

    usable: Interval | None  # the share of items where both say the same
    kappa: Agreement
    failure: Interval | None
    failure_kappa: Agreement
    confusion: Mapping[tuple[bool, bool], int]  # (people, verifier) -> items


class MetricAgreement(NamedTuple):
    """The agreement of a metric with people."""

    metric: Metric
    n: int  # items that it was measured for
    spearman: Correlation | None
    kendall: Correlation | None
    accuracy: Interval | None = None  # comparisons: does the difference point as people do
    kappa: Agreement | None = None  # comparisons: win, tie at a difference of 0, lose


@dataclass(frozen=True, slots=True)
class MachineAgreement:
    """The judge beside the people, over settled items."""

    items: int  # settled by people
    unlinked: int  # of these, imported without a run
    gone: int  # of these, whose run or case is not there any more
    gone_runs: tuple[str, ...]
    verifier: Verifier | None
    metrics: tuple[MetricAgreement, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the numbers for other programs."""
        verifier = None
        if self.verifier is not None:
            verifier = {name: _json(value) for name, value in self.verifier._asdict().items()}
            verifier["confusion"] = [
                {"people": people, "verifier": program, "n": n}
                for (people, program), n in self.verifier.confusion.items()
            ]
        return {
            "items": self.items,
            "without_run": self.unlinked,
            "run_gone": self.gone,
            "verifier": verifier,
            "metrics": [
                {name: _json(value) for name, value in one._asdict().items() if value is not None}
                for one in self.metrics
            ],
        }


def machine_agreement(said: TaskLabels, facts: Facts) -> MachineAgreement:
    """Return the judge's verdicts and every metric beside the answers of people.

    An answer is 1 or 0 for usable or not, 1, 0 or -1 for win, tie or lose, or the mean of the
    scales that an item was rated on.
    """
    kind, compare = said.task.kind, said.task.kind == "compare"
    known = _numeric_answers(said)
    linked = {i: a for i, a in known.items() if i.run and (i.baseline or not compare)}
    there = {
        item: answer
        for item, answer in linked.items()
        if facts.of(item) and (not compare or facts.baseline(item))
    }
    # A judge's own verdict on usability is the verifier, not a metric.
    verdict = annotation_of(said.task.benchmark).usable_score if kind == "judge" else None
    metrics = [_metric(one, there, facts, kind) for one in facts.metrics if one.key != verdict]
    settled = [one for one in settled_items(said) if one.item in there] if kind == "judge" else []
    return MachineAgreement(
        items=len(known),
        unlinked=len(known) - len(linked),
        gone=len(linked) - len(there),
        gone_runs=facts.gone,
        verifier=_verifier(settled, facts),
        metrics=tuple(one for one in metrics if one is not None),
    )


def _numeric_answers(said: TaskLabels) -> dict[Item, float]:
    if said.task.kind == "rate":
        scales = [said.answers(one.key) for one in said.task.questions if one.kind == "scale"]
        given = {
            item: [a for s in scales for a in s.get(item.id, {}).values()] for item in said.items
        }
        return {item: fmean(answers) for item, answers in given.items() if answers}
    facet = FACETS[said.task.kind][0]
    settled = {one.item: one.answers[facet] for one in settled_items(said)}
    return {
        item: float(_STEPS[answer] if isinstance(answer, str) else answer is True)
        for item, answer in settled.items()
        if answer is not None
    }


def _verifier(found: Sequence[SettledItem], facts: Facts) -> Verifier | None:
    pairs = [
        (one, known)
        for one in found
        if (known := facts.of(one.item)) is not None and known.usable is not None
    ]
    if not pairs:
        return None
    pages = [one.item.page for one, _ in pairs]
    people = [bool(one.answers["usable"]) for one, _ in pairs]
    program = [bool(known.usable) for _, known in pairs]
    theirs = [one.answers["failure"] for one, _ in pairs]
    ours = [known.failure for _, known in pairs]
    return Verifier(
        accuracy(program, people, clusters=pages),
        cohen_kappa(program, people, clusters=pages),
        accuracy(ours, theirs, clusters=pages),
        cohen_kappa(ours, theirs, clusters=pages),
        Counter(zip(people, program, strict=True)),
    )


def _metric(
    metric: Metric, answers: Mapping[Item, float], facts: Facts, kind: str
) -> MetricAgreement | None:
    rows = []
    for item, answer in answers.items():
        ours, theirs = facts.of(item), facts.baseline(item)
        value = ours.scores.get(metric.key) if ours else None
        other = theirs.scores.get(metric.key) if kind == "compare" and theirs else 0.0
        if value is not None and other is not None:
            rows.append((value - other, answer, item.page))
    if not rows:
        return None
    values, said, pages = zip(*rows, strict=True)
    resamples = min(max(_RESAMPLED // len(values), 200), 1000)
    spearman, kendall = (
        rank_correlation(values, said, kind=one, clusters=pages, resamples=resamples)
        for one in ("spearman", "kendall")
    )
    if spearman is None and len(values) < len(answers) and kind != "rate":
        return None  # nothing but the zeros of cases without a page
    if kind != "compare":
        return MetricAgreement(metric, len(values), spearman, kendall)
    signs = [(value > 0) - (value < 0) for value in values]
    votes = [int(answer) for answer in said]
    return MetricAgreement(
        metric,
        len(values),
        spearman,
        kendall,
        accuracy(signs, [vote or None for vote in votes], clusters=pages),
        cohen_kappa(signs, votes, clusters=pages),
    )


def _json(value: Any) -> Any:
    if isinstance(value, Metric):
        return value.key
    return value._asdict() if hasattr(value, "_asdict") else value


# Tables for a terminal.


def result_tables(said: TaskLabels, facts: Facts, machine: MachineAgreement) -> list[Table]:
    """Return every table of a task that has data."""
    found = task_results(said, facts)
    tables = [_counts_table(found, said)]
    if found.comparisons:
        tables.append(_comparison_table(found.comparisons))
    tables += [] if found.failures is None else [found.failures]
    tables += [*found.categories, *found.published]
    tables += [] if found.ranking is None else ranking_tables(found.ranking)
    tables += [_question_table(one) for one in found.questions]
    tables += [_agreement_table(one) for one in agreements(said)]
    if machine.verifier or machine.metrics:
        tables.append(_machine_table(machine))
    return tables


def _counts_table(found: TaskResults, said: TaskLabels) -> Table:
    counts = found.counts
    rows = tuple(
        (*names, f"{one.n:,}", percent(one, 2), bounds(one))
        for names, one in found.usability.items()
    )
    people = "1 person" if counts.people == 1 else f"{counts.people} people"
    note = (
        f"{counts.labels:,} labels of {people} for {counts.labelled:,} of {counts.items:,} items. "
    )
    if said.task.kind != "rate":
        note += f"People differ on {counts.disputed:,}; {counts.settled:,} are decided"
        note += "." if said.in_pairs else f", {counts.open:,} are tied and in no table."
    title = f"Task {said.task.id}: {said.task.title}"
    header = ("Model", "Prompt", "n", "usable %", "95 %") if rows else ()
    return Table(title, header, rows, (note,), 2)


def _comparison_table(rates: Rates) -> Table:
    rows: dict[tuple[str, ...], list[str]] = {}
    for names, one in rates.items():
        row = rows.setdefault(names[:2], [*names[:2], f"{one.n:,}"])
        row += [percent(one, 1), bounds(one)]
    columns = [part for outcome in OUTCOMES for part in (f"{outcome} %", "95 %")]
    header = ("Model", "Prompt", "n", *columns)
    return Table("Against the baseline", header, tuple(map(tuple, rows.values())), (), 2)


def ranking_tables(found: Ranking) -> list[Table]:
    """Return the ranking, and how often each method won against each."""
    if found.problem or not found.ranked:
        return [Table("Ranking", (), (), (found.problem or "No labels yet.",))]
    names = [one.name for one in found.ranked]
    ranked = Table(
        "Ranking (Bradley-Terry)",
        ("Method", "strength", "95 %", "beats average %", "won", "n"),
        tuple(
            (
                one.name,
                f"{one.strength:+.2f}",
                bounds_text(one.low, one.high, 2, "+") or MISSING,
                f"{100 * one.beats_average:.1f}",
                f"{one.wins:.1f}",
                f"{one.n:,}",
            )
            for one in found.ranked
        ),
        (_RANKING_NOTE,),
    )
    cells = {pair: f"{100 * wins / n:.0f} ({n:,})" for pair, (wins, n) in found.pairs.items()}
    against = Table(
        "Won % against (comparisons)",
        ("Method", *names),
        tuple((one, *(cells.get((one, other), MISSING) for other in names)) for one in names),
    )
    return [ranked, against]


def _question_table(found: QuestionResults) -> Table:
    question, rows = found.question, []
    if question.kind == "text":
        n = len(found.texts)
        return Table(question.ask, (), (), (f"{n:,} texts; they are in the export.",))
    for names, of in found.means.items():
        first = next(iter(of.values()))
        cells = [share(one) for one in of.values()]
        if question.kind == "scale":
            cells = [f"{first.mean:.2f}", bounds_text(first.low, first.high, 2) or MISSING]
        rows.append((*names, f"{first.n:,}", *cells))
    if question.kind == "choice":
        header = ("Model", "Prompt", "n", *(f"{option} %" for option in question.options))
        return Table(question.ask, header, tuple(rows), (), 2)
    ends = " to ".join(question.options)
    note = f"1 to 7: {ends}." if ends else "1 to 7."
    return Table(question.ask, ("Model", "Prompt", "n", "mean", "95 %"), tuple(rows), (note,), 2)


def _agreement_table(found: FacetAgreement) -> Table:
    title = f"Agreement: {found.name}"
    if not found.items:
        return Table(title, (), (), ("No item has labels of two people.",))
    same = (
        "same label, pairs %",
        percent(found.percent),
        bounds(found.percent),
        f"{found.items:,}",
    )
    coefficients = {
        "Fleiss' kappa": found.fleiss,
        "Krippendorff's alpha": found.alpha,
        "Krippendorff's alpha, ordinal": found.ordinal,
    }
    rows = [same, *((name, *_numbers(one)) for name, one in coefficients.items() if one)]
    weighted = ", squared weights" if found.fleiss is None else ""
    rows += [
        (f"Cohen's kappa{weighted}, {first} and {second}", *_numbers(kappa))
        for (first, second), kappa in found.pairs.items()
    ]
    return Table(title, ("", "value", "95 %", "n"), tuple(rows))


def _machine_table(machine: MachineAgreement) -> Table:
    rows: list[tuple[str, ...]] = []
    if machine.verifier is not None:
        verifier = machine.verifier
        for name, same, kappa in (
            ("verifier: usable", verifier.usable, verifier.kappa),
            ("verifier: main failure", verifier.failure, verifier.failure_kappa),
        ):
            n = "0" if same is None else f"{same.n:,}"
            rows.append((name, percent(same), bounds(same), *_numbers(kappa)[:2], *[""] * 4, n))
    for one in machine.metrics:
        kappas = _numbers(one.kappa)[:2] if one.kappa else ("", "")
        shares = (percent(one.accuracy), bounds(one.accuracy)) if one.accuracy else ("", "")
        ranks = (*_numbers(one.spearman)[:2], *_numbers(one.kendall)[:2])
        rows.append((one.metric.label, *shares, *kappas, *ranks, f"{one.n:,}"))
    header = ("", "same %", "95 %", "kappa", "95 %", "Spearman", "95 %", "Kendall", "95 %", "n")
    notes = []
    if machine.unlinked or machine.gone:
        notes.append(
            f"Not counted: of {machine.items:,} items {machine.unlinked:,} were imported without a "
            f"run, and the run or case of {machine.gone:,} is gone."
        )
    return Table("Judge and people", header, tuple(rows), tuple(notes))


def _numbers(found: Agreement | Correlation | None) -> tuple[str, str, str]:
    if found is None or found.value is None:
        return MISSING, MISSING, MISSING if found is None else f"{found.n:,}"
    reach = bounds_text(found.low, found.high, 2) or MISSING
    return f"{round(found.value, 3) + 0.0:.3f}", reach, f"{found.n:,}"  # never -0.000
