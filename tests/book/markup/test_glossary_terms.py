"""The row of letters above the glossary."""

PAGE = """# Words

```{glossary}
80/10/10
: Three shares.

ablation
: Leaving something out.

Adam
: An optimizer.

beam search
: A search.
```
"""


def test_each_letter_leads_to_the_first_word_with_it(build_page):
    page = build_page(PAGE).page
    links = {link.text: link["href"] for link in page.select(".course-letters a")}
    assert links == {"8": "#term-80-10-10", "A": "#term-ablation", "B": "#term-beam-search"}
    assert all(page.select_one(f"dt{href}") for href in links.values())
