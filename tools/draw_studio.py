"""Draw docs/pictures/studio.png: the desk over the example table, as Chromium shows it.

python -m tools.draw_studio
"""

from __future__ import annotations

import io
import shutil
import threading
from contextlib import chdir
from pathlib import Path

from PIL import Image
from playwright.sync_api import ViewportSize, sync_playwright

from sfumato.studio.serving import app_of, listen_near, new_desk, server_for

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "src" / "sfumato" / "data" / "patients.csv"
PICTURE = ROOT / "docs" / "pictures" / "studio.png"
_SIZE = ViewportSize(width=1240, height=780)
_COLOURS = 256
_PATIENCE = 600.0  # seconds


def main() -> None:
    """Open a desk, look at it, and write what is seen."""
    with chdir(TABLE.parent), new_desk() as desk:
        desk.open(TABLE.name)
        sock, _ = listen_near(0)
        app, address = app_of(desk, sock)
        server = server_for(app)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]}, daemon=True)
        thread.start()
        seen = _seen(address)
        server.should_exit = True
        thread.join(_PATIENCE)
        sock.close()
    picture = Image.open(io.BytesIO(seen)).convert("RGB").quantize(_COLOURS)
    picture.save(PICTURE, optimize=True)


def _seen(address: str) -> bytes:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport=_SIZE, color_scheme="light")
        page.set_default_timeout(1000 * _PATIENCE)
        page.goto(address)
        page.wait_for_selector("#risk:not([aria-busy]) .combinations li")
        shown: bytes = page.screenshot()
        browser.close()
    return shown


if __name__ == "__main__":
    main()
