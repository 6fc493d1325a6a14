"""The page that goes with a trained model: what it is, what it was trained on, what it can't do."""

from typing import Any

_LANGUAGES = {"en": "English", "de": "German", "fr": "French"}


def model_card(summary: dict[str, Any]) -> str:
    """Write the page.

    Args:
        summary: What ``summary.json`` holds.

    Returns:
        The page, Markdown.
    """
    recipe = summary["recipe"]
    src, tgt = _LANGUAGES[recipe["src"]], _LANGUAGES[recipe["tgt"]]
    state = f"{summary['steps_done']} steps"
    if summary["stopped_early"]:
        state += ", when the validation loss no longer fell"
    elif not summary["finished"]:
        state += f" of {recipe['steps']}: **the run is not finished**"
    threads = "one thread" if summary["threads"] == 1 else f"{summary['threads']} threads"
    steps = ", ".join(map(str, summary["weights_of_steps"]))
    weights = f"the mean of those after steps {steps}" if "," in steps else f"those of step {steps}"
    rows = [
        f"| {split} | {entry['beam_size']} | {entry['cased']['bleu']:.2f} "
        f"| {entry['lowercased']['bleu']:.2f} |"
        for split, entry in summary["scores"].items()
    ]
    signatures = {
        f"- {name}: `{entry[name]['signature']}`"
        for entry in summary["scores"].values()
        for name in ("cased", "lowercased")
    }
    return "\n".join(
        [
            f"# {src} to {tgt}, preset `{recipe['preset']}`, seed {recipe['seed']}",
            "",
            f"A {recipe['architecture']} model with {summary['parameters']:,} parameters, trained "
            f"by `course_lib.recipes.translation` on the 29,000 captions of Multi30k, task 1, for "
            f"{state}. Its weights are {weights}.",
            "",
            f"Training took {summary['cpu_seconds']:,.0f} CPU seconds in "
            f"{summary['wall_seconds']:,.0f} seconds on {summary['device']}, {threads}, in "
            f"{recipe['precision']}, with torch {summary['torch']}, last taken up "
            f"{summary['date'][:10]}.",
            "",
            f"    {summary['command']}",
            "",
            "## BLEU",
            "",
            "| test set | beam | cased | lower-cased |",
            "| --- | ---: | ---: | ---: |",
            *rows,
            "",
            *sorted(signatures),
            "",
            "Papers give lower-cased BLEU on text that Moses' tokeniser split; the last column is "
            "as near as sacreBLEU comes to it.",
            "",
            "## Limits",
            "",
            "It knows captions of photographs and nothing else: short sentences, in the present, "
            "about people, dogs and streets. What other texts it is given, it turns into captions. "
            "It repeats what its captions take for granted, of men and women among other things.",
            "",
            "## Data",
            "",
            "Multi30k states no licence for its sentences. Its authors provide it for "
            "non-commercial research and education; use the model accordingly. Elliott, Frank, "
            "Sima'an and Specia (2016), Multi30K: Multilingual English-German Image Descriptions.",
            "",
        ]
    )
