"""Make ``docs/reference/`` out of the code; a test holds the pages to it: python docs/tools/make_reference_pages.py."""

from reference_pages import REFERENCE, pages


def main() -> None:
    """Write the pages."""
    REFERENCE.mkdir(exist_ok=True)
    for name, text in pages().items():
        (REFERENCE / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
