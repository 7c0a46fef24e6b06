"""Take the picture of the demo's page that the guide to the program shows: `python docs/images/page.py senate.html`."""

import shutil
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
# What was found, and the network below it. Half the points of a screen are enough to see what is where.
WIDTH, HEIGHT, SHRINK = 1280, 1750, 0.625
COLOURS = 128  # the picture has 110 kB with these


def take_picture(page: Path, picture: Path) -> None:
    """Open a page in Chromium, in its light theme, and write what a screen of this size would show."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        tab.goto(page.resolve().as_uri())
        tab.wait_for_timeout(3000)  # milliseconds, for the layout to come to rest
        tab.screenshot(path=picture)
        browser.close()
    whole = Image.open(picture).convert("RGB")
    small = whole.resize((int(WIDTH * SHRINK), int(HEIGHT * SHRINK)), Image.Resampling.LANCZOS)
    small.quantize(COLOURS, method=Image.Quantize.FASTOCTREE).save(picture, optimize=True)


if __name__ == "__main__":
    take_picture(Path(sys.argv[1]), Path(__file__).with_suffix(".png"))
