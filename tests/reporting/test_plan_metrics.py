"""Every metric that a plan names is reported: in printed tables, the page, Markdown, LaTeX and
figures."""

import pytest
from tiny_plans import tiny_dict

from ldlearn.evaluation import Results, read_records, score_tables
from ldlearn.experiments import Plan, run_plan
from ldlearn.metrics import LABEL_METRICS, METRICS, get_metric
from ldlearn.reporting import write_report

METHODS = {
    "UniformLE + MeanLDL": {"estimator": "UniformLE", "learner": "MeanLDL"},
    "DLDL": {"params": {"beta": 1.0}},
}
EVERY_METRIC = [*METRICS, *LABEL_METRICS]


def make_plan(metrics, **changes):
    return Plan.from_dict(tiny_dict(methods=METHODS, metrics=metrics, **changes))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    run_plan(make_plan(EVERY_METRIC), folder)
    return folder


@pytest.mark.parametrize(
    "metrics",
    [["wasserstein"], ["wasserstein", "cosine"], ["average_precision", "cjs", "chebyshev"]],
    ids=" ".join,
)
def test_named_metrics_are_reported_everywhere(metrics, folder, tmp_path):
    plan = make_plan(metrics)
    (folder / "plan.toml").write_text(plan.to_toml(), encoding="utf-8")
    printed = score_tables(Results(read_records(folder), plan.metrics), plan.metrics)
    page = write_report(folder, tmp_path, formats=["svg"]).read_text(encoding="utf-8")
    heads = [head for table in printed for head in table.head]
    markdown = (tmp_path / "report.md").read_text(encoding="utf-8")
    options = page[page.index('<optgroup label="Of the plan">') :].split("</optgroup>")[0]
    for name in metrics:
        assert get_metric(name).heading in heads
        assert f'<option value="{name}">' in options
        assert f"Prediction: {get_metric(name).heading}" in markdown
        assert (tmp_path / f"tables/prediction-{name}.tex").is_file()
        assert (tmp_path / f"figures/differences-prediction-{name}.svg").is_file()
    assert options.count("<option ") == len(metrics)
    assert (
        len(list((tmp_path / "tables").glob("prediction-*.md"))) == len(metrics) + 1
    )  # and the combined table


def test_every_metric_can_be_named(folder):
    results = Results(read_records(folder), EVERY_METRIC)
    assert {metric.name for metric in results.headline_metrics} == set(EVERY_METRIC)
    assert results.unreported == []


def test_metrics_of_ordered_labels_are_shown_only_if_named(folder):
    shown = {metric.name for metric in Results(read_records(folder)).metrics}
    assert not shown & {"wasserstein", "average_precision"}


def test_every_metric_selects_for_itself_if_the_plan_says_so(tmp_path):
    methods = {"SABFGS": {"grid": {"l2": [1.0, 10.0]}}}
    options = {"protocol": {"repeats": 1}, "selection": {"per_metric": True}}
    plan = Plan.from_dict(tiny_dict(methods=methods, metrics=["wasserstein"], **options))
    (record, *_) = run_plan(plan, tmp_path).records
    assert "wasserstein" in record.selected_by_metric["prediction"]


def test_metric_that_cannot_select_for_itself_is_refused():
    with pytest.raises(ValueError, match="average_precision"):
        make_plan(["average_precision"], selection={"per_metric": True})


def test_metric_without_a_score_is_named_in_the_report(folder, tmp_path):
    """Records of other programs, and data without true degrees, may lack a metric of the plan."""
    records = read_records(folder)
    for record in records:
        for scores in (record.recovery, record.prediction):
            if scores:
                scores.pop("cosine", None)
    results = Results(records, ["cosine", "intersection"])
    assert results.unreported == ["cosine"]
    (folder / "plan.toml").write_text('metrics = ["unheard_of", "intersection"]', encoding="utf-8")
    write_report(folder, tmp_path, formats=[])
    assert "no record has a score: unheard" in (tmp_path / "report.md").read_text(encoding="utf-8")


def test_no_metrics_are_the_usual_ones():
    assert (
        make_plan([]).metrics
        == make_plan(["chebyshev", "clark", "threshold_error", "intersection"]).metrics
    )
