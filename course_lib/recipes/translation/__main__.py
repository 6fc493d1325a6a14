"""python -m course_lib.recipes.translation."""

from course_lib.recipes.needs import require

require("tokenizers", "sacrebleu", "safetensors", "typer")

from course_lib.recipes.translation.cli import app

if __name__ == "__main__":
    app(prog_name="python -m course_lib.recipes.translation")
