"""Make ``docs/reference/`` out of the code; a test holds the pages to it: python docs/tools/make_reference_pages.py."""

from reference_pages import REFERENCE, pages


def main() -> None:
    """Write the pages."""
    (REFERENCE / "api").mkdir(parents=True, exist_ok=True)
    made = pages()
    for page in (REFERENCE / "api").glob("*.md"):
        if f"api/{page.name}" not in made:
            page.unlink()
    for name, text in made.items():
        (REFERENCE / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
