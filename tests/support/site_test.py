#!/usr/bin/env python3
"""The site: how pages are converted, and, where Chromium is installed, what a reader sees of it.

Usage: build/site-tools/bin/python tests/support/site_test.py    after scripts/site, which .ci/site calls
"""
import functools
import http.server
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
from cookbook import compiler_explorer, recipe, site_pages  # noqa: E402

BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")


class Pages(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.site = site_pages.Site(pathlib.Path(scratch.name) / "site")

    def test_a_list_has_its_further_lines_where_the_generator_wants_them(self):
        page = "1. one\n\n   more\n\n   - inner\n     more\n2. two\n\n- a\n  b\n"
        self.assertEqual("1. one\n\n    more\n\n    - inner\n        more\n2. two\n\n- a\n    b\n",
                         site_pages.deeper_lists(page))

    def test_a_link_to_a_source_leads_to_its_place_on_the_page(self):
        here = "chapters/02_threads/lock/README.md"
        self.assertEqual("[x](#lock-cpp)", self.site.converted("[x](lock.cpp)", here).strip())
        self.assertEqual("[x](../event/README.md#event-cpp)",
                         self.site.converted("[x](../event/event.cpp)", here).strip())
        self.assertEqual("[x](../event/README.md#pitfall)",
                         self.site.converted("[x](../event/README.md#pitfall)", here).strip())

    def test_a_link_to_another_file_leads_to_a_page_of_its_own(self):
        self.assertEqual("[x](files/LICENSE.md)", self.site.converted("[x](LICENSE)", "README.md").strip())
        self.assertIn("LICENSE", self.site.files)

    def test_a_link_to_nothing_is_an_error(self):
        with self.assertRaises(SystemExit):
            self.site.converted("[x](nothing.cpp)", "chapters/02_threads/lock/README.md")

    def test_code_stays_as_it_is(self):
        for text in ("`[](lock.cpp)`\n", "```cpp\nauto f = [](lock.cpp) {};\n```\n"):
            self.assertEqual(text, self.site.converted(text, "chapters/02_threads/lock/README.md"))

    def test_each_excerpt_is_linked_to_its_lines(self):
        lock = next(one for one in self.site.recipes if one.name == "lock")
        text = self.site.excerpts(lock, lock.page.read_text())
        places = re.findall(r"\[(lock|lock_race)\.cpp, lines? (\d+)(?: to (\d+))?\]\(#\1-cpp-(\d+)\)", text)
        self.assertEqual(len(re.findall("^```cpp", text, re.M)), len(places))
        source = lock.source("lock").read_text().splitlines()
        name, first, last, anchor = places[0]
        self.assertEqual(name, "lock")
        self.assertEqual(first, anchor)
        self.assertIn(source[int(first) - 1].strip(), text)
        self.assertIn(source[int(last) - 1].strip(), text)

    def test_every_recipe_is_in_the_navigation_once(self):
        self.site.build()
        nav = json.loads((self.site.folder / "mkdocs.yml").read_text().rpartition("\nnav: ")[2])
        found = re.findall(r'"(chapters/\w+/\w+)/README.md"', json.dumps(nav))
        self.assertEqual([one.folder.relative_to(ROOT).as_posix() for one in recipe.recipes()], found)


class CompilerExplorer(unittest.TestCase):
    def test_every_text_that_is_opened_there_compiles_alone(self):
        sources = [source for one in recipe.recipes() for source in one.sources()]
        texts = [text for source in sources if (text := compiler_explorer.text(source))]
        self.assertGreater(len(texts), 40)
        with tempfile.TemporaryDirectory() as scratch:
            everything = []
            for i, text in enumerate(texts):
                self.assertNotIn('#include "', text)
                (pathlib.Path(scratch) / f"{i}.cpp").write_text(text)
                everything.append(f"{i}.cpp")
            done = subprocess.run(["xargs", "-P", "2", "-n", "1", "g++", "-std=c++20", "-fsyntax-only"], cwd=scratch,
                                  input="\n".join(everything), text=True, capture_output=True)
            self.assertEqual("", done.stderr)

    def test_a_program_that_needs_more_is_not_opened_there(self):
        lock = next(one for one in recipe.recipes() if one.name == "lock")
        self.assertIsNone(compiler_explorer.link(lock.source("lock")))
        self.assertIsNotNone(compiler_explorer.link(lock.source("lock_race")))


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@unittest.skipUnless(BROWSER and DRIVER, "no browser is installed: chromium and chromium-driver")
class Browser(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        from selenium import webdriver
        # The site stands below the root of its server, as on GitHub Pages.
        cls.scratch = tempfile.TemporaryDirectory()
        (pathlib.Path(cls.scratch.name) / "cookbook").symlink_to(ROOT / "build" / "site")
        handler = functools.partial(Quiet, directory=cls.scratch.name)
        cls.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=cls.server.serve_forever, daemon=True).start()
        cls.root = f"http://127.0.0.1:{cls.server.server_port}/cookbook/"
        options = webdriver.ChromeOptions()
        options.binary_location = BROWSER
        for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                         "--window-size=1300,1000", f"--user-data-dir={cls.scratch.name}/profile"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        cls.driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
        cls.driver.set_script_timeout(100)
        cls.recipes = recipe.recipes()

    @classmethod
    def tearDownClass(cls):
        cls.driver.quit()
        cls.server.shutdown()
        cls.scratch.cleanup()

    def open(self, path):
        self.driver.get(self.root + path)

    def wait_for(self, script, what):
        done = self.driver.execute_async_script(
            "const done = arguments[0], ends = Date.now() + 20000;"
            f"(function look() {{ const found = (() => {script})(); if (found || Date.now() > ends) done(found); "
            "else setTimeout(look, 50); })()")
        self.assertTrue(done, what)
        return done

    def page(self, one):
        return f"chapters/{one.chapter}/{one.name}/"

    def test_ten_pages_are_drawn_without_an_error_or_a_request_to_another_host(self):
        for log in ("browser", "performance"):
            self.driver.get_log(log)  # what is older
        for one in self.recipes[::len(self.recipes) // 10]:
            self.open(self.page(one))
            self.assertEqual(one.title.replace("`", ""),
                             self.driver.execute_script("return document.querySelector('h1').firstChild.textContent"
                                                        " && document.querySelector('h1').innerText.replace('¶', '')"
                                                        ".trim()"))
            self.wait_for("document.querySelectorAll('pre.diagram').length === "
                          "document.querySelectorAll('pre.diagram[data-drawn] svg').length", one.name)
            self.assertTrue(self.driver.execute_script("return document.querySelector('.source .linenos') !== null"))
        self.assertEqual([], [entry for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"])
        requests = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        urls = [message["params"]["request"]["url"] for message in requests
                if message["method"] == "Network.requestWillBeSent"]
        self.assertGreater(len(urls), 30)
        self.assertEqual([], [url for url in urls if not url.startswith((self.root, "data:", "blob:"))])

    def test_every_diagram_can_be_drawn(self):
        sources = [(one.name, block) for one in self.recipes
                   for block in re.findall(r"^```mermaid\n(.*?)^```", one.page.read_text(), re.M | re.S)]
        self.assertGreater(len(sources), 0)
        self.assertEqual(len(sources), sum(one.page.read_text().count("```mermaid") for one in self.recipes))
        self.open("")
        failed = self.driver.execute_async_script(
            "const [sources, done] = arguments;"
            "import(new URL('mermaid/index.js', location.href)).then(async ({mermaid}) => {"
            "  mermaid.initialize({startOnLoad: false}); const failed = [];"
            "  for (const [i, [name, source]] of sources.entries()) {"
            "    try { const {svg} = await mermaid.render('d' + i, source);"
            "          if (!svg.includes('<svg')) failed.push(name); }"
            "    catch (error) { failed.push(name + ': ' + error.message); } }"
            "  done(failed); }, (error) => done([error.message]))", sources)
        self.assertEqual([], failed, "\n".join(failed))

    def test_the_search_finds_the_right_recipe_first(self):
        index = (ROOT / "chapters" / "INDEX.md").read_text()
        teaching = re.findall(r"\[(\w+)\]", next(line for line in index.splitlines() if "syncthreads`" in line))
        for words, wanted in {"deadlock": ["deadlock"], "MPI_Scatter": ["mpi_scatter"],
                              "__syncthreads": teaching}.items():
            self.open("?q=" + words)
            first = self.wait_for("document.querySelector('.md-search-result__list a')?.href", words)
            self.assertIn(first.removeprefix(self.root).split("/")[2], wanted, words)

    def test_previous_and_next_lead_through_a_chapter(self):
        names = [one.name for one in self.recipes if one.chapter == "02_threads"]
        self.open("chapters/02_threads/")
        seen = []
        for _ in names:
            self.open_link(".md-footer__link--next")
            seen.append(self.driver.current_url.rstrip("/").rpartition("/")[2])
        self.assertEqual(names, seen)
        self.open_link(".md-footer__link--prev")
        self.assertTrue(self.driver.current_url.endswith(f"/{names[-2]}/"))

    def open_link(self, selector):
        self.driver.get(self.driver.execute_script(f"return document.querySelector('{selector}').href"))

    def test_a_page_fits_a_phone(self):
        self.driver.set_window_size(400, 800)
        self.addCleanup(self.driver.set_window_size, 1300, 1000)
        for one in self.recipes[3::len(self.recipes) // 5]:
            self.open(self.page(one))
            width, seen = self.driver.execute_script("return [document.scrollingElement.scrollWidth, innerWidth]")
            self.assertLessEqual(width, seen, one.name)

    def test_a_transcript_has_a_button_that_copies_its_command(self):
        self.open("chapters/02_threads/lock/")
        self.wait_for("document.querySelector('.copy-command')", "no button")

    def test_a_link_below_an_excerpt_leads_to_a_line_of_the_source(self):
        self.open("chapters/02_threads/lock/")
        target = self.driver.execute_script("return document.querySelector('.place').getAttribute('href')")
        self.assertTrue(self.driver.execute_script(
            "const name = arguments[0];"
            "return document.getElementById(name) !== null || document.getElementsByName(name).length > 0", target[1:]))


if __name__ == "__main__":
    unittest.main()
