"""What the five benchmarks declare of tasks, metrics and prompts; what they do not declare is nothing special."""

from pipeline.benchmarks.registry import BENCHMARKS, OWN_NAMES
from pipeline.questions.audited import Coverage
from pipeline.questions.scoring_protocol import Figure

OURS = {name: BENCHMARKS[name] for name in OWN_NAMES}
NUMBERS_OF_NAMES = {"object_counting", "object_counting_single", "object_counting_multiple", "object_size_estimation"}
OPTIONS_OF_ONE_SCENE = {"Action Generation", "Goal Detection", "Landmark Position", "Progress Evaluation", "Proximity"}
OPEN_OR_PAIRED = {"AT words", "CL", "E/E stated", "L/M words", "M/P stated", "R/D", "R/S", "S/M words", "TP"}


def test_only_tasks_that_say_so_are_about_no_scene_or_balanced_in_another_way() -> None:
    special = {
        flag: {task.name for benchmark in OURS.values() for task in benchmark.tasks if getattr(task, flag) is value}
        for flag, value in (("general", True), ("once", True), ("by_name", True), ("balanced", False))
    }
    assert special == {
        "general": {"GEN"},
        "once": {"GEN"},
        "by_name": NUMBERS_OF_NAMES,
        "balanced": {*OPTIONS_OF_ONE_SCENE, "Sequence Recall", *OPEN_OR_PAIRED},
    }


def test_only_metrics_that_say_so_are_minor_or_guessed_and_a_mark_of_1_is_the_best() -> None:
    metrics = {name: benchmark.score.metrics for name, benchmark in OURS.items() if benchmark.score}
    minor = {(name, key) for name, of in metrics.items() for key, metric in of.items() if metric.is_minor}
    assert minor == {
        ("urbanvideo", "judged"), ("cityeqa", "ne_euclid2d"), ("cityeqa", "ne_l1"), ("embodied4c", "numeric"),
    }  # fmt: skip
    guessed = {(name, key) for name, of in metrics.items() for key, metric in of.items() if metric.is_guessed}
    assert guessed == {("vsi", "score"), ("urbanvideo", "accuracy"), ("cityeqa", "match"), ("ergeobench", "accuracy")}
    assert (metrics["vsi"]["score"].digits, metrics["vsi"]["score"].highest) == (3, 1)
    assert Figure("all") == Figure("all", "", (), (), inset=False, difference=False)


def test_questions_at_the_end_of_their_video_are_those_of_flights_and_drives() -> None:
    assert {name for name, of in OURS.items() if of.asking and of.asking.ends_asked} == {"urbanvideo", "embodied4c"}


def test_what_model_authors_need_and_do() -> None:
    authors = {name: benchmark.author for name, benchmark in OURS.items() if benchmark.author}
    assert {name: (a.sighted, a.guessing, a.unseen, a.each_missing, a.rewrites) for name, a in authors.items()} == {
        "urbanvideo": (0, False, 1, True, True),
        "cityeqa": (0, True, 3, False, False),
        "ergeobench": (1, False, 0, False, True),
        "embodied4c": (2, True, 1, False, False),
    }


def test_coverage_counts_from_0() -> None:
    assert Coverage() == Coverage(published=0, not_in_metadata=0, contained=0)
