"""python -m course_lib.recipes.pretraining."""

from course_lib.recipes.needs import require

require("tokenizers", "safetensors", "typer")

from course_lib.recipes.pretraining.cli import app

if __name__ == "__main__":
    app(prog_name="python -m course_lib.recipes.pretraining")
