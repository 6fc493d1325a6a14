"""Write decks and their PDFs: ``python -m scripts.slides DIR [CHAPTER ...]``."""

import sys
from pathlib import Path

from scripts.slides.writing import write_slides

write_slides(Path(sys.argv[1]), sys.argv[2:])
