"""`python -m tools.reference_pages`: write every generated page, and the copy of the error page for the API."""

from tools.reference_pages.pages import render_all

for path, text in render_all().items():
    if not path.exists() or path.read_text() != text:
        path.write_text(text)
        print(f"written: {path}")
