"""Scoring code of lmms-eval 0.7.3, ``lmms_eval/tasks/vsibench/utils.py``, word for word but for its imports.

Copyright (c) 2025 LMMs-Lab. Licensed under the Apache License, Version 2.0. Left out is what loads videos.
"""

import logging
import re
from functools import partial  # noqa: F401  (used inside eval()'d MRA metric strings)

import numpy as np
import pandas as pd

eval_logger = logging.getLogger(__name__)

_NUMBER_WORDS = {
    "zero": 0,
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "eleven": 11,
    "twelve": 12,
    "thirteen": 13,
    "fourteen": 14,
    "fifteen": 15,
    "sixteen": 16,
    "seventeen": 17,
    "eighteen": 18,
    "nineteen": 19,
    "twenty": 20,
    "thirty": 30,
    "forty": 40,
    "fifty": 50,
    "sixty": 60,
    "seventy": 70,
    "eighty": 80,
    "ninety": 90,
    "hundred": 100,
    "thousand": 1000,
}
_NUM_RE = re.compile(r"-?\d+(?:\.\d+)?")

MCA_QUESTION_TYPES = [
    "object_rel_direction_easy",
    "object_rel_direction_medium",
    "object_rel_direction_hard",
    "object_rel_distance",
    "route_planning",
    "obj_appearance_order",
]
NA_QUESTION_TYPES = [
    "object_abs_distance",
    "object_counting",
    "object_size_estimation",
    "room_size_estimation",
]

METRICS_FOR_MCA = {
    "accuracy": "exact_match",
}

METRICS_FOR_NA = {
    "MRA:.5:.95:.05": "partial(mean_relative_accuracy, start=.5, end=.95, interval=.05)",
}


def vsibench_doc_to_text(doc, lmms_eval_specific_kwargs=None):
    lmms_eval_specific_kwargs = lmms_eval_specific_kwargs or {}
    question = doc["question"]

    pre_prompt = lmms_eval_specific_kwargs.get("pre_prompt", "") or "These are frames of a video."

    if doc["question_type"] in NA_QUESTION_TYPES:
        post_prompt = lmms_eval_specific_kwargs.get("na_post_prompt", "") or "Please answer the question using a single word or phrase."
        return pre_prompt + "\n" + question + "\n" + post_prompt
    elif doc["question_type"] in MCA_QUESTION_TYPES:
        options = "Options:\n" + "\n".join(doc["options"])
        post_prompt = lmms_eval_specific_kwargs.get("mca_post_prompt", "") or "Answer with the option's letter from the given choices directly."
        return "\n".join([pre_prompt, question, options, post_prompt])
    else:
        raise ValueError(f"Unknown question type: {doc['question_type']}")


def fuzzy_matching(pred):
    return pred.split(" ")[0].rstrip(".").strip()


def exact_match(pred, target):
    return 1.0 if pred.lower() == target.lower() else 0.0


def abs_dist_norm(pred, target):
    return abs(pred - target) / target


def mean_relative_accuracy(pred, target, start, end, interval):
    num_pts = (end - start) / interval + 2
    conf_intervs = np.linspace(start, end, int(num_pts))
    accuracy = abs_dist_norm(pred, target) <= 1 - conf_intervs
    return accuracy.mean()


WORST_CASE_FOR_METRICS = {
    "accuracy": 0.0,
    "MRA:.5:.95:.05": 0.0,
}


def to_float(pred):
    try:
        pred = float(pred)
    except BaseException:
        pred = None
    return pred


def extract_number(text):
    """Pull the first numeric value out of a model response.

    Handles bare digits ("3", "3.0"), digits embedded in a sentence
    ("There are 3 boxes"), and English number words ("three", "Three boxes.",
    "twenty-one", "three hundred and twenty-one"). Returns None if nothing
    numeric is found.

    Ordering matters: whichever number token (digit or word) appears first
    in the string wins. This avoids mis-scoring responses like
    "one apple, room 2" — the intended count is "one" (1), not the later
    digit "2".
    """
    if text is None:
        return None
    s = str(text).strip().lower()
    if not s:
        return None

    digit_match = _NUM_RE.search(s)
    word_run_start = None
    word_run_tokens = []
    for m in re.finditer(r"[a-z]+", s):
        tok = m.group(0)
        if word_run_start is None:
            if tok in _NUMBER_WORDS:
                word_run_start = m.start()
                word_run_tokens.append(tok)
        else:
            if tok == "and":
                continue
            if tok in _NUMBER_WORDS:
                word_run_tokens.append(tok)
            else:
                break

    digit_first = digit_match is not None and (word_run_start is None or digit_match.start() < word_run_start)
    if digit_first:
        try:
            return float(digit_match.group(0))
        except ValueError:
            pass

    if word_run_start is None:
        return None

    total, current = 0, 0
    for tok in word_run_tokens:
        val = _NUMBER_WORDS[tok]
        if val == 100:
            current = max(current, 1) * 100
        elif val == 1000:
            total += max(current, 1) * 1000
            current = 0
        else:
            current += val
    return float(total + current)


def vsibench_process_results(doc, results):
    doc["prediction"] = results[0]
    if doc["question_type"] in MCA_QUESTION_TYPES:
        for key, value in METRICS_FOR_MCA.items():
            doc[key] = eval(value)(fuzzy_matching(doc["prediction"]), doc["ground_truth"])
    elif doc["question_type"] in NA_QUESTION_TYPES:
        for key, value in METRICS_FOR_NA.items():
            try:
                doc[key] = eval(value)(extract_number(doc["prediction"]), to_float(doc["ground_truth"]))
            except TypeError:
                doc[key] = WORST_CASE_FOR_METRICS[key]
    else:
        raise ValueError(f"Unknown question type: {doc['question_type']}")

    return {
        "vsibench_overall": doc,
        "obj_appearance_order_accuracy": doc,
        "object_abs_distance_mra": doc,
        "object_counting_mra": doc,
        "object_rel_distance_accuracy": doc,
        "object_size_estimation_mra": doc,
        "room_size_estimation_mra": doc,
        "route_planning_accuracy": doc,
        "object_rel_direction_accuracy": doc,
    }


def _compute_all_subscores(results) -> dict:
    """Compute all sub-category scores from raw results. Shared logic for all aggregation functions."""
    df = pd.DataFrame(results)
    output = {}

    for question_type, question_type_indexes in df.groupby("question_type").groups.items():
        per_question_type = df.iloc[question_type_indexes]

        if question_type in MCA_QUESTION_TYPES:
            for metric in METRICS_FOR_MCA.keys():
                output[f"{question_type}_{metric}"] = per_question_type[metric].mean()
        elif question_type in NA_QUESTION_TYPES:
            for metric in METRICS_FOR_NA.keys():
                output[f"{question_type}_{metric}"] = per_question_type[metric].mean()
        else:
            raise ValueError(f"Unknown question type: {question_type}")

    output["object_rel_direction_accuracy"] = (
        sum(
            [
                output.pop("object_rel_direction_easy_accuracy"),
                output.pop("object_rel_direction_medium_accuracy"),
                output.pop("object_rel_direction_hard_accuracy"),
            ]
        )
        / 3.0
    )

    output["overall"] = sum([_ for _ in output.values()]) / len(output)
    return output


def vsibench_aggregate_overall(results):
    output = _compute_all_subscores(results)
    eval_logger.info(f"Evaluation results: {output}")
    return round(output["overall"], 6)


def vsibench_aggregate_obj_appearance_order_accuracy(results):
    return round(_compute_all_subscores(results).get("obj_appearance_order_accuracy", 0.0), 6)


def vsibench_aggregate_object_abs_distance_mra(results):
    return round(_compute_all_subscores(results).get("object_abs_distance_MRA:.5:.95:.05", 0.0), 6)


def vsibench_aggregate_object_counting_mra(results):
    return round(_compute_all_subscores(results).get("object_counting_MRA:.5:.95:.05", 0.0), 6)


def vsibench_aggregate_object_rel_distance_accuracy(results):
    return round(_compute_all_subscores(results).get("object_rel_distance_accuracy", 0.0), 6)


def vsibench_aggregate_object_size_estimation_mra(results):
    return round(_compute_all_subscores(results).get("object_size_estimation_MRA:.5:.95:.05", 0.0), 6)


def vsibench_aggregate_room_size_estimation_mra(results):
    return round(_compute_all_subscores(results).get("room_size_estimation_MRA:.5:.95:.05", 0.0), 6)


def vsibench_aggregate_route_planning_accuracy(results):
    return round(_compute_all_subscores(results).get("route_planning_accuracy", 0.0), 6)


def vsibench_aggregate_object_rel_direction_accuracy(results):
    return round(_compute_all_subscores(results).get("object_rel_direction_accuracy", 0.0), 6)


# Keep backward compatibility
def vsibench_aggregate_results(results):
    return vsibench_aggregate_overall(results)
