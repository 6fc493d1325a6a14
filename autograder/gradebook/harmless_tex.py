"""TeX commands that a student's formula may use in nbgrader's pages.

Other commands of MathJax fetch pictures, cover the page or redefine the instructor's formulas.
"""

_LETTERS = """
alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa varkappa lambda mu nu
xi omicron pi varpi rho varrho sigma varsigma tau upsilon phi varphi chi psi omega Gamma Delta Theta
Lambda Xi Pi Sigma Upsilon Phi Psi Omega digamma ell hbar imath jmath Re Im wp aleph beth partial
nabla infty emptyset varnothing forall exists nexists neg lnot top bot angle prime backprime dagger
ddagger square blacksquare triangle diamond star bigstar flat natural sharp checkmark
"""
_OPERATORS = """
sum prod coprod int iint iiint oint bigcup bigcap bigsqcup bigvee bigwedge bigoplus bigotimes
bigodot biguplus pm mp times div cdot ast circ bullet cap cup sqcap sqcup vee wedge land lor oplus
ominus otimes oslash odot setminus smallsetminus wr amalg uplus lhd rhd unlhd unrhd arccos arcsin
arctan arg cos cosh cot coth csc deg det dim exp gcd hom inf injlim ker lg lim liminf limsup ln log
max min Pr projlim sec sin sinh sup tan tanh operatorname bmod pmod mod pod limits nolimits
"""
_RELATIONS = """
le leq ge geq leqslant geqslant lt gt ll gg lll ggg neq ne equiv sim simeq cong approx approxeq
asymp doteq propto varpropto prec succ preceq succeq subset supset subseteq supseteq subsetneq
supsetneq sqsubset sqsupset sqsubseteq sqsupseteq in notin ni owns mid nmid parallel nparallel perp
vdash dashv models vDash Vdash bowtie smile frown not triangleq coloneqq therefore because between
colon
"""
_ARROWS = """
to gets leftarrow rightarrow leftrightarrow Leftarrow Rightarrow Leftrightarrow uparrow downarrow
updownarrow Uparrow Downarrow Updownarrow longleftarrow longrightarrow longleftrightarrow
Longleftarrow Longrightarrow Longleftrightarrow mapsto longmapsto hookleftarrow hookrightarrow
nearrow searrow swarrow nwarrow leftharpoonup leftharpoondown rightharpoonup rightharpoondown
rightleftharpoons leftrightarrows rightleftarrows implies iff impliedby xleftarrow xrightarrow
leadsto rightsquigarrow nleftarrow nrightarrow nRightarrow
"""
_MADE_OF_PARTS = """
frac dfrac tfrac cfrac sqrt root of binom dbinom tbinom over atop choose stackrel overset underset
overline underline overbrace underbrace overrightarrow overleftarrow widehat widetilde hat check
breve acute grave tilde bar vec dot ddot dddot mathring substack sideset boxed tag notag nonumber
label ref eqref begin end cr hline
"""
_DELIMITERS = """
left right middle big Big bigg Bigg bigl Bigl biggl Biggl bigr Bigr biggr Biggr bigm Bigm biggm
Biggm lbrace rbrace lbrack rbrack langle rangle lceil rceil lfloor rfloor lvert rvert lVert rVert
vert Vert lgroup rgroup lmoustache rmoustache backslash ulcorner urcorner llcorner lrcorner
"""
_SPACES_AND_FONTS = """
quad qquad thinspace enspace ldots cdots vdots ddots dots dotsb dotsc dotsi dotsm dotso displaystyle
textstyle scriptstyle scriptscriptstyle text textrm textit textbf textsf texttt mbox mathrm mathbf
mathit mathsf mathtt mathbb mathcal mathfrak mathscr boldsymbol bm pmb rm bf it cal mathop mathbin
mathrel mathord mathopen mathclose mathpunct mathinner
"""
HARMLESS = frozenset(
    f"{_LETTERS} {_OPERATORS} {_RELATIONS} {_ARROWS} {_MADE_OF_PARTS} {_DELIMITERS} "
    f"{_SPACES_AND_FONTS}".split()
)
"""Names of the allowed commands, without the backslash."""
