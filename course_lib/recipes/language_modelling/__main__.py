"""python -m course_lib.recipes.language_modelling."""

from course_lib.recipes.needs import require

require("safetensors", "typer")

from course_lib.recipes.language_modelling.cli import app

if __name__ == "__main__":
    app(prog_name="python -m course_lib.recipes.language_modelling")
