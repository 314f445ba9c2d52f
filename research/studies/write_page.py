"""What each part of DLDL is worth: docs/research/studies.md from the records of the plans in
research/studies.

    LDLEARN_DATA=... ldlearn run research/studies/ablation/plan.toml -o RUN python -m
    research.studies.write_page keep ablation RUN    # its records, made small, beside the plan
    python -m research.studies.write_page                      # the page

Every number of the page is computed from the records; none is typed.
"""

from __future__ import annotations

import argparse
import lzma
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ldlearn.evaluation import TASKS, Difference, Record, Results, Task, difference, read_records
from ldlearn.metrics import METRICS
from research.paper.remarks import printed_scores

FOLDER = Path(__file__).parent
PAGE = Path(__file__).parents[2] / "docs" / "research" / "studies.md"
STUDIES = ("ablation", "iterations", "graph_settings")
DATASETS = {"vader_tweets": "tweets", "natural_scene": "Natural Scene", "scut_fbp": "SCUT-FBP"}
COUNTS = (1, 2, 5, 20, 100)  # outer iterations
SETTINGS = ("beta = 0", "beta = 1", "beta = 10", "alpha = 0.1, beta = 1")
PRINTED = {"natural_scene": "NS", "scut_fbp": "SCUT"}

HEAD = """# What each part of DLDL is worth

**Conclusion.** The graph term helps nowhere significantly. The term with beta and the intercept
help on some data sets and make no other worse; the joint fit beats two steps on most. Few
iterations suffice with beta, and k, sigma and init hardly matter.

All differences are paired over {repeats} shuffled 60/20/20 splits of {rows} rows of each data set
(tweets are vader_tweets, Natural Scene and SCUT-FBP are the paper's; {few} splits where iterations
are counted), with 95 % intervals that allow for the rows that splits share
({{py:obj}}`~ldlearn.evaluation.difference`). A positive difference means better; it is clear, and
bold, if its interval excludes zero. Where penalties are tuned, the true distributions of the
validation rows select them, for each metric and for all variants alike.

<!-- not run: takes minutes, and two of the data sets are not part of the project -->
```console
$ LDLEARN_DATA=... ldlearn run research/studies/ablation/plan.toml -o RUN
$ python -m research.studies.write_page keep ablation RUN
$ python -m research.studies.write_page
```

and likewise `iterations` and `graph_settings`, write this page from the records. {made}
"""

COLLAPSE = """## Why does beta = 0 collapse toward one label?

Without alpha and beta the D-step gives the row i the degrees d ∝ y p, and the least KL(d, p) is -ln
Σ p_j over its positive labels: the objective sees only how much mass p puts on the positive labels
*together*. Take a gamma so large that p is the same for all rows. Then p maximises the concave f(p)
= Σ_i ln s_i with s_i = Σ_j y_ij p_j, and at the maximum ∂f/∂p_j = Σ 1 / s_i over the rows with
label j is at most n, and is n wherever p_j > 0. If label k is positive in every row in which j is,
and in others too, then ∂f/∂p_j < ∂f/∂p_k ≤ n, hence p_j = 0: a label that never comes without
another ends with no degree at all. One outer iteration multiplies p_j by (∂f/∂p_j) / n, so p_j /
p_k falls geometrically; five iterations stop on the way. The term beta |d|² has its minimum at
equal shares and prevents the collapse. `tests/joint/test_dldl_collapse.py` checks every step of
this.

The largest degree of a row, on average over the rows that the records keep (1 is collapse):
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "keep", nargs="*", metavar="keep STUDY RUN", help="take the records of a run into a study"
    )
    description = parser.parse_args().keep
    if description:
        _, study, run = description
        keep(study, Path(run))
    else:
        PAGE.write_text(page(load()), encoding="utf-8")


def keep(study: str, run: Path) -> None:
    """Write the records of a run, without what the page does not need."""
    small = [
        replace(
            record,
            grid=[],
            **({} if study == "iterations" else {"samples": None, "convergence": None}),
        )
        for record in read_records(run)
    ]
    (FOLDER / study / "records.jsonl.xz").write_bytes(
        lzma.compress(b"".join(each.encoded() for each in small))
    )


def load() -> dict[str, Results]:
    return {study: Results(read_records(FOLDER / study)) for study in STUDIES}


def page(studies: dict[str, Results]) -> str:
    """The whole page."""
    ablation, iterations, settings = (studies[name] for name in STUDIES)
    versions = next(record.versions for record in ablation.records if record.versions)
    made = f"Made with {', '.join(f'{name} {version}' for name, version in versions.items())}."
    repeats = {"repeats": n_repeats(ablation), "few": n_repeats(iterations)}
    parts = [
        HEAD.format(
            **repeats,
            rows=sum(
                ablation.present_datasets[0].sizes[f"n_{part}"]
                for part in ("train", "validation", "test")
            ),
            made=made,
        ),
        without(
            ablation,
            "Does the graph help?",
            "DLDL, alpha = 0",
            "With the graph (alpha > 0, tuned) DLDL",
        ),
        without(ablation, "Does beta help?", "DLDL, beta = 0", "With beta (tuned) DLDL"),
        two_steps(ablation),
        how_many_iterations(iterations),
        COLLAPSE.strip() + "\n\n" + largest_degrees(iterations),
        graph_settings(settings),
        table_three(ablation),
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def n_repeats(results: Results) -> int:
    return len({record.repeat for record in results.finished_records()})


# --- Comparisons of two variants


def gaps(
    results: Results, task: Task, first: str, second: str, metric: str = "intersection"
) -> dict[str, Difference]:
    """By data set, how much better the first is than the second."""
    table = results.table(task, METRICS[metric])
    assert table is not None
    found = {name: difference(results, table, first, second, name) for name in DATASETS}
    return {name: gap for name, gap in found.items() if gap is not None}


def count_clear_differences(found: Iterable[Difference]) -> tuple[int, int]:
    """How many are clearly better, and how many clearly worse."""
    signs = [np.sign(gap.mean) for gap in found if is_significant(gap)]
    return signs.count(1.0), signs.count(-1.0)


def short_answer(found: Iterable[Difference]) -> str:
    better, worse = count_clear_differences(found)
    if better and worse:
        return "It depends on the data."
    return (
        "Yes, on some data."
        if better
        else "No, results are worse."
        if worse
        else "No evidence for it."
    )


def comparison_sentence(subject: str, other: str, found: Sequence[Difference]) -> str:
    """How often it is clearly better or worse, and how far apart they are."""
    better, worse = count_clear_differences(found)
    least, most = (extreme(gap.mean for gap in found) for extreme in (min, max))
    return (
        f"{subject} is clearly better than {other} in {better} of {len(found)} comparisons and "
        f"clearly worse in"
        f" {worse}; the differences lie between {least:+.4f} and {most:+.4f}."
    )


def without(results: Results, question: str, less: str, subject: str) -> str:
    """DLDL with and without one of its terms, by intersection."""
    full = "DLDL"
    found = {task: gaps(results, task, full, less) for task in TASKS}
    both = [gap for each in found.values() for gap in each.values()]
    lines = [
        f"## {question}",
        "",
        f"{short_answer(both)} {comparison_sentence(subject, 'without', both)}",
    ]
    lines += ["", *head(["Intersection", *DATASETS.values()])]
    for task in TASKS:
        lines.append(row([f"{task}: with", *means(results, task, full)]))
        lines.append(row([f"{task}: without", *means(results, task, less)]))
        lines.append(
            row([f"{task}: difference", *(gap_text(found[task].get(name)) for name in DATASETS)])
        )
    return "\n".join(lines)


def two_steps(results: Results) -> str:
    """The joint fit against an enhancer that looks at no feature, followed by the same
    predictor."""
    joint, lines = "DLDL, alpha = 0", head(["Intersection", *DATASETS.values()])
    sentences: list[str] = []
    every: list[Difference] = []
    for task in TASKS:
        lines.append(row([f"{task}: joint", *means(results, task, joint)]))
    for baseline, description in {"UniformLE": "equal shares", "PriorLE": "the prior"}.items():
        rivals: dict[Task, str] = {"recovery": baseline, "prediction": f"{baseline} + SABFGS"}
        found = {task: gaps(results, task, joint, name) for task, name in rivals.items()}
        both = [gap for each in found.values() for gap in each.values()]
        sentences.append(
            comparison_sentence("The joint fit (alpha = 0)", f"{description}, then SA-BFGS,", both)
        )
        every += both
        for task, name in rivals.items():
            lines.append(row([f"{task}: {description}", *means(results, task, name)]))
            lines.append(
                row(
                    [
                        f"{task}: joint against that",
                        *(gap_text(found[task].get(each)) for each in DATASETS),
                    ]
                )
            )
    return "\n".join(
        [
            "## Does the joint fit beat two steps?",
            "",
            " ".join([short_answer(every), *sentences]),
            "",
            *lines,
        ]
    )


# --- Iterations


def how_many_iterations(results: Results) -> str:
    lines = [
        "## How many iterations?",
        "",
        objective_sentence(results),
        "",
        recovery_sentence(results),
        "",
    ]
    lines += head(
        ["Intersection of recovery after", "", *(str(count) for count in COUNTS), "100 against 5"]
    )
    for setting in SETTINGS:
        for name, title in DATASETS.items():
            scores = [
                f"{results.spread(f'{setting}: {k}', name, 'recovery', 'intersection').mean:.4f}"
                for k in COUNTS
            ]
            gap = gaps(results, "recovery", f"{setting}: 100", f"{setting}: 5")[name]
            lines.append(row([setting, title, *scores, gap_text(gap)]))
    return "\n".join(lines)


def objective_sentence(results: Results) -> str:
    """After how many iterations the objective has made 99 % of the fall that 100 of them make."""
    needed = {
        setting: [iterations_to(record) for record in longest(results, setting)]
        for setting in SETTINGS
    }
    parts = [
        f"{int(np.median(counts))} (at most {max(counts)}) for {setting}"
        for setting, counts in needed.items()
    ]
    return (
        "Of the fall of the objective from the first iteration to the hundredth, 99 % is made "
        "after a median of"
        f" {'; '.join(parts)} iterations, with gamma = 0.1 m."
    )


def recovery_sentence(results: Results) -> str:
    held = [
        g
        for setting in SETTINGS[1:]
        for g in gaps(results, "recovery", f"{setting}: 100", f"{setting}: 5").values()
    ]
    free = list(gaps(results, "recovery", f"{SETTINGS[0]}: 100", f"{SETTINGS[0]}: 5").values())
    subject = "Recovery after 100 iterations with beta = 1 or 10"
    with_beta = comparison_sentence(subject, "after 5", held)
    without_beta = comparison_sentence("Without beta recovery after 100", "after 5", free)
    return f"{with_beta} {without_beta}"


def longest(results: Results, setting: str) -> list[Record]:
    return results.finished_records(method=f"{setting}: {COUNTS[-1]}")


def iterations_to(record: Record, share: float = 0.99) -> int:
    assert record.convergence is not None
    # After the D-steps, which end the iterations
    path = np.array(record.convergence.objective[1::2])
    left = (path - path[-1]) / max(path[0] - path[-1], 1e-300)
    return int(np.argmax(left <= 1 - share)) + 1


def largest_degrees(results: Results) -> str:
    lines = head(
        [
            "Outer iterations",
            *(f"{title}, {setting}" for setting in SETTINGS[:2] for title in DATASETS.values()),
        ]
    )
    for count in COUNTS:
        cells = [str(count)]
        for setting in SETTINGS[:2]:
            for name in DATASETS:
                records = results.finished_records(name, f"{setting}: {count}")
                cells.append(f"{np.mean([largest(record) for record in records]):.3f}")
        lines.append(row(cells))
    return "\n".join(lines)


def largest(record: Record) -> float:
    assert record.samples is not None
    # Rows with one label have degree 1 by themselves
    several = np.sum(record.samples.logical, axis=1) > 1
    return float(np.max(record.samples.recovered, axis=1)[several].mean())


# --- Settings of the graph, and Table 3


def graph_settings(results: Results) -> str:
    usual = "k = 20"
    others = [name for name in results.methods if name != usual]
    found = {(task, name): gaps(results, task, name, usual) for task in TASKS for name in others}
    known = [gap for each in found.values() for gap in each.values()]
    chance = f"About {0.05 * len(known):.0f} of them would be clear by chance."
    titles = [f"{task}: {title}" for task in TASKS for title in DATASETS.values()]
    lines = ["## Do k, sigma and init matter?", ""]
    default = "k = 20, sigma = median, init = uniform"
    lines += [f"{comparison_sentence('Another setting', default, known)} {chance}", ""]
    lines += head(["Against that, intersection", *titles])
    for name in others:
        lines.append(
            row(
                [
                    name,
                    *(gap_text(found[task, name].get(each)) for task in TASKS for each in DATASETS),
                ]
            )
        )
    return "\n".join(lines)


def table_three(results: Results) -> str:
    """The paper's ablation: Chebyshev, with and without an intercept, beside what is printed."""
    variants = ("", "alpha = 0", "beta = 0", "gamma = 0")
    lines = ["## Table 3 with and without an intercept", "", intercept_sentence(results), ""]
    lines += [
        "Chebyshev distances, smaller is better; printed values are those of the paper's splits of "
        "all rows.",
        "",
    ]
    titles = [f"{task}: {title}" for task in TASKS for title in DATASETS.values()]
    lines += head(["", *titles])
    for label, prefix in (("with intercept", "DLDL"), ("no intercept", "no intercept")):
        for variant in variants:
            name = f"{prefix}, {variant}" if variant else prefix
            cells = [cell for task in TASKS for cell in means(results, task, name, "chebyshev")]
            lines.append(row([f"{label}, {variant or 'full'}", *cells]))
    for variant in variants:
        cells = [printed(task, name, variant) for task in TASKS for name in DATASETS]
        lines.append(row([f"printed, {variant or 'full'}", *cells]))
    return "\n".join(lines)


def intercept_sentence(results: Results) -> str:
    found = [
        g
        for task in TASKS
        for g in gaps(results, task, "DLDL", "no intercept", "chebyshev").values()
    ]
    return comparison_sentence("With an intercept DLDL", "without one", found)


def printed(task: Task, dataset: str, variant: str) -> str:
    if dataset not in PRINTED:
        return ""
    cell = printed_scores()[f"ablation-{task}", "chebyshev"][
        PRINTED[dataset], variant.replace(" ", "") or "DLDL"
    ]
    return str(cell.mean)


# --- Words


def means(results: Results, task: Task, method: str, metric: str = "intersection") -> list[str]:
    found = [results.spread(method, name, task, metric) for name in DATASETS]
    return [f"{spread.mean:.4f}" if spread else "–" for spread in found]


def is_significant(gap: Difference) -> bool:
    """Whether the interval leaves out zero, and the difference is one in the digits that are
    printed."""
    return gap.is_significant and abs(gap.mean) >= 5e-5


def gap_text(gap: Difference | None) -> str:
    if gap is None:
        return "–"
    text = f"{gap.mean:+.4f} ± {gap.margin:.4f}"
    return f"**{text}**" if is_significant(gap) else text


def head(titles: Sequence[str]) -> list[str]:
    return [row(titles), "|---|" + "---|" * (len(titles) - 1)]


def row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
