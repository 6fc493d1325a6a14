"""Makes a student's Markdown harmless in nbgrader's pages.

formgrader renders notebooks with their HTML and scripts, in the browser of a teaching assistant who
is logged in to a server that runs code. Its renderers take quadratic time, in which the server
answers nobody else; therefore long text is cut and long code is not coloured.
"""

import re
from collections.abc import Collection

from nbformat import NotebookNode

from autograder.clean_text import clean_text

_MOST_TEXT = 20_000  # characters of a Markdown cell; the submitted file keeps all of them
_MOST_TEXTS = 100_000  # characters of all Markdown cells
# Sum of the squared lengths of the code cells: twice that of a homework.
_MOST_CODE = 10**9
_UNCOLOURED = {"name": "python", "pygments_lexer": "text"}
# WORD JOINER has no width and belongs to no markup: it breaks a tag without changing its look.
_BREAK = "\u2060"
_BROKEN = re.compile(
    r"<(?=[A-Za-z/!?])"  # the start of a tag, comment or declaration
    r"|\](?=[(\[:])"  # the middle of a link or picture
    r"|(?P<harmless>\\\\(?!\*?\s*\[))|\\\\"  # a line break; TeX takes a height after it
    r"|\\(?=(?P<command>[A-Za-z]+))"  # a TeX command; _HARMLESS ones stay
    r"|(?:```|~~~)(?=[^\S\n]*[^\s`~])"  # a fenced block with a language
)
# Commands of TeX that a formula may use. Others of MathJax fetch pictures, link to scripts, cover
# the page or redefine the instructor's formulas.
_COMMANDS = """
alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa varkappa lambda mu nu
xi omicron pi varpi rho varrho sigma varsigma tau upsilon phi varphi chi psi omega Gamma Delta
Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega digamma ell hbar imath jmath Re Im wp aleph beth
partial nabla infty emptyset varnothing forall exists nexists neg lnot top bot angle prime
backprime dagger ddagger square blacksquare triangle diamond star bigstar flat natural sharp
checkmark sum prod coprod int iint iiint oint bigcup bigcap bigsqcup bigvee bigwedge bigoplus
bigotimes bigodot biguplus pm mp times div cdot ast circ bullet cap cup sqcap sqcup vee wedge land
lor oplus ominus otimes oslash odot setminus smallsetminus wr amalg uplus lhd rhd unlhd unrhd
arccos arcsin arctan arg cos cosh cot coth csc deg det dim exp gcd hom inf injlim ker lg lim
liminf limsup ln log max min Pr projlim sec sin sinh sup tan tanh operatorname bmod pmod mod pod
limits nolimits le leq ge geq leqslant geqslant lt gt ll gg lll ggg neq ne equiv sim simeq cong
approx approxeq asymp doteq propto varpropto prec succ preceq succeq subset supset subseteq
supseteq subsetneq supsetneq sqsubset sqsupset sqsubseteq sqsupseteq in notin ni owns mid nmid
parallel nparallel perp vdash dashv models vDash Vdash bowtie smile frown not triangleq coloneqq
therefore because between colon to gets leftarrow rightarrow leftrightarrow Leftarrow Rightarrow
Leftrightarrow uparrow downarrow updownarrow Uparrow Downarrow Updownarrow longleftarrow
longrightarrow longleftrightarrow Longleftarrow Longrightarrow Longleftrightarrow mapsto
longmapsto hookleftarrow hookrightarrow nearrow searrow swarrow nwarrow leftharpoonup
leftharpoondown rightharpoonup rightharpoondown rightleftharpoons leftrightarrows rightleftarrows
implies iff impliedby xleftarrow xrightarrow leadsto rightsquigarrow nleftarrow nrightarrow
nRightarrow frac dfrac tfrac cfrac sqrt root of binom dbinom tbinom over atop choose stackrel
overset underset overline underline overbrace underbrace overrightarrow overleftarrow widehat
widetilde hat check breve acute grave tilde bar vec dot ddot dddot mathring substack sideset boxed
tag notag nonumber label ref eqref begin end cr hline left right middle big Big bigg Bigg bigl
Bigl biggl Biggl bigr Bigr biggr Biggr bigm Bigm biggm Biggm lbrace rbrace lbrack rbrack langle
rangle lceil rceil lfloor rfloor lvert rvert lVert rVert vert Vert lgroup rgroup lmoustache
rmoustache backslash ulcorner urcorner llcorner lrcorner quad qquad thinspace enspace ldots cdots
vdots ddots dots dotsb dotsc dotsi dotsm dotso displaystyle textstyle scriptstyle
scriptscriptstyle text textrm textit textbf textsf texttt mbox mathrm mathbf mathit mathsf mathtt
mathbb mathcal mathfrak mathscr boldsymbol bm pmb rm bf it cal mathop mathbin mathrel mathord
mathopen mathclose mathpunct mathinner
"""
_HARMLESS = frozenset(_COMMANDS.split())
_KEPT_METADATA = ("nbgrader", "course", "deletable", "editable")


def inert_markup(text: str, limit: int = _MOST_TEXT) -> str:
    """Return the text, cut to ``limit``, with an invisible break in each tag and link."""
    return _BROKEN.sub(_part, clean_text(text, limit))


def _part(found: re.Match[str]) -> str:
    stays = found["harmless"] or found["command"] in _HARMLESS
    return found[0] if stays else found[0] + _BREAK


def make_inert(notebook: NotebookNode, instructors: Collection[str]) -> None:
    """Remove from a notebook, in place, everything that a page could run or fetch.

    Pages show code as text, so code stays. A cell whose text is one of the ``instructors`` stays
    too; its metadata proves nothing, because the student may have written it.
    """
    notebook.metadata = NotebookNode(
        {"kernelspec": notebook.metadata["kernelspec"]} if "kernelspec" in notebook.metadata else {}
    )
    code = [len(cell.source) for cell in notebook.cells if cell.cell_type == "code"]
    if sum(length**2 for length in code) > _MOST_CODE:
        notebook.metadata["language_info"] = NotebookNode(_UNCOLOURED)
    left = _MOST_TEXTS
    for cell in notebook.cells:
        known = {key: cell.metadata[key] for key in _KEPT_METADATA if key in cell.metadata}
        cell.metadata = NotebookNode(known)
        cell.pop("attachments", None)
        if cell.cell_type != "code" and cell.source not in instructors:
            limit = max(min(left, _MOST_TEXT), 1)
            left -= len(cell.source)
            cell.source = inert_markup(cell.source, limit)
