#!/usr/bin/env python3
"""scripts/setup, with stand-ins for apt-get, apt-cache, dpkg-query, sudo and id on PATH: nothing is installed."""
import contextlib
import io
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"
sys.path.insert(0, str(SCRIPTS))
from cookbook import recipe, setup  # noqa: E402
from cookbook.command import Problem  # noqa: E402

STAND_INS = {
    # A line of the file `installed` per installed package; all others are unknown to it, and it says so.
    "dpkg-query": 'shift 3; for name; do grep -qx "$name" $HERE/installed && echo "$name installed" || echo "no '
                  'packages found matching $name" >&2; done; [ $# = $(wc -l <$HERE/installed) ]',
    "apt-cache": 'grep -qx "$2" $HERE/unknown && exit 100; exit 0',
    # Refuses what stands in the file `refused`, also where it is one of several.
    "apt-get": '''echo "apt-get $*" >>$HERE/calls
[ "$2" = update ] && exit $(cat $HERE/update)
case "$*" in *--print-uris*) for name; do case "$name" in -* | install) ;;
  *) echo "'http://debian/$name.deb' $name.deb 1500000 SHA256:1" ;; esac; done; exit 0 ;; esac
for name; do grep -qx -- "$name" $HERE/refused && exit 100; done
shift 4; for name; do echo "$name" >>$HERE/installed; done''',
    "sudo": 'echo "sudo $1" >>$HERE/calls; "$@"',
}


class Case(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.here = pathlib.Path(scratch.name)
        for name, text in STAND_INS.items():
            self.stand_in(name, text)
        for tool in ("sh", "env", "grep", "cat", "wc", "rm", "chmod", "dirname", "cmake"):
            (self.here / "bin" / tool).symlink_to(shutil.which(tool))
        self.write(installed="", unknown="", refused="", calls="", update="0")
        for patch in (mock.patch.dict(os.environ, {"PATH": str(self.here / "bin"), "HERE": scratch.name}),
                      mock.patch.object(setup, "POLICY", str(self.here / "policy-rc.d")),
                      mock.patch.object(os, "geteuid", lambda: 0)):
            patch.start()
            self.addCleanup(patch.stop)

    def stand_in(self, name, text):
        (self.here / "bin").mkdir(exist_ok=True)
        file = self.here / "bin" / name
        file.write_text(f"#!{shutil.which('sh', path='/usr/bin:/bin')}\n{text}\n")
        file.chmod(0o755)

    def write(self, **files):
        for name, text in files.items():
            (self.here / name).write_text(text)

    def install(self, *names, **options):
        """What it says, the exit code as a text at its end."""
        with contextlib.redirect_stderr(io.StringIO()) as said:
            try:
                setup.for_recipes(list(names), **options)
            except Problem as problem:
                return f"{said.getvalue()}{problem} ({problem.code})"
        return said.getvalue()

    @property
    def installed(self):
        return (self.here / "installed").read_text().split()

    @property
    def calls(self):
        return [line for line in (self.here / "calls").read_text().splitlines() if "--print-uris" not in line]


class Setup(Case):
    def test_everything_is_there(self):
        self.write(installed="\n".join(choice.split("|")[-1] for choice in setup.wanted(tests=True)) + "\n")
        self.assertEqual(self.install(tests=True), "")
        self.assertEqual(self.calls, [])

    def test_it_says_what_and_how_much_before_it_installs_all_at_once(self):
        said = self.install("lock")
        self.assertIn("installing for lock: g++ make cmake", said)
        count = len(setup.wanted([]))
        self.assertIn(f"({count} packages with what they need, {round(1.5 * count)} MB)", said)
        self.assertEqual(len(self.calls), 2, self.calls)
        self.assertEqual(self.installed, setup.wanted([]))
        self.assertEqual(self.install("lock"), "")

    def test_by_recipe(self):
        self.install("opencl_reduction")
        self.assertIn("pocl-opencl-icd", self.installed)
        for other in ("libtbb-dev", "oclgrind", "rabbitmq-server", "libgtest-dev"):
            self.assertNotIn(other, self.installed)
        self.install("opencl_reduction", bench=True)
        self.assertIn("libtbb-dev", self.installed)
        self.assertNotIn("libgtest-dev", self.installed)
        self.install("opencl_reduction", tests=True)
        self.assertIn("oclgrind", self.installed)
        self.assertIn("libgtest-dev", self.installed)

    def test_all_recipes_and_what_only_tests_need(self):
        self.install()
        for name in ("podman", "runc", "rabbitmq-server", "openssh-server", "libhwloc-dev"):
            self.assertIn(name, self.installed)
        for name in ("python3-celery", "libgtest-dev", "python3-munkres"):
            self.assertNotIn(name, self.installed)
        self.install(tests=True)
        for name in ("python3-celery", "libgtest-dev", "python3-matplotlib", "python3-munkres", "clang-format-14"):
            self.assertIn(name, self.installed)

    def test_the_first_that_the_distribution_has(self):
        self.install("event_loop")
        self.assertIn("libboost1.81-dev", self.installed)
        self.write(installed="", unknown="libboost1.81-dev\n")  # as on Ubuntu 24.04
        self.assertNotIn("has no", self.install("event_loop"))
        self.assertIn("libboost1.83-dev", self.installed)
        self.assertNotIn("libboost1.81-dev", self.installed)
        self.assertEqual(self.install("event_loop"), "", "either is enough")

    def test_a_package_that_the_distribution_does_not_have(self):
        self.write(unknown="libtbb-dev\n")
        self.assertIn("this distribution has no libtbb-dev", self.install("parallel_loop"))
        self.assertIn("cmake", self.installed)

    def test_one_that_is_refused_stops_none_of_the_others(self):
        self.write(refused="libtbb-dev\n")
        said = self.install("parallel_loop")
        self.assertIn("could not be installed: libtbb-dev; what needs them is skipped", said)
        self.assertNotIn("(3)", said)
        wanted = setup.wanted([recipe.find("parallel_loop")])
        self.assertEqual(self.installed, [name for name in wanted if name != "libtbb-dev"])

    def test_nothing_can_be_installed(self):
        self.write(refused="\n".join(setup.wanted([])) + "\n")
        self.assertRegex(self.install("lock"), r"nothing could be installed \(3\)$")

    def test_no_network(self):
        self.write(update="100", refused="\n".join(setup.wanted([])) + "\n")
        said = self.install("lock")
        self.assertRegex(said, r"(?s)could not be brought up to date.*nothing could be installed \(3\)$")
        self.write(refused="")  # one source of packages is broken, and the others are there
        self.assertIn("installing for lock", self.install("lock"))
        self.assertIn("cmake", self.installed)

    def test_not_root(self):
        with mock.patch.object(os, "geteuid", lambda: 1000):
            self.install("lock")
            self.assertIn("cmake", self.installed)
            self.assertEqual([call for call in self.calls if call.startswith("sudo")].count("sudo env"), 2)
            (self.here / "bin" / "sudo").unlink()
            self.write(installed="", calls="")
            said = self.install("lock")
            self.assertRegex(said, r"not root and no sudo; ask the administrator for: g\+\+, .*\(3\)$")
            self.assertEqual(self.calls, [])

    def test_no_apt_get(self):
        (self.here / "bin" / "apt-get").unlink()
        (self.here / "bin" / "dpkg-query").unlink()
        self.assertRegex(self.install("executors"), r"no apt-get here.*libboost1.81-dev or libboost1.83-dev.*\(3\)$")

    def test_no_service_is_started_and_a_policy_that_exists_stays(self):
        self.stand_in("apt-get", STAND_INS["apt-get"] + '\n[ -x $HERE/policy-rc.d ] && echo "policy" >>$HERE/calls')
        self.install("lock")
        self.assertIn("policy", self.calls)
        self.assertFalse((self.here / "policy-rc.d").exists())
        self.write(installed="", **{"policy-rc.d": "mine"})
        self.install("lock")
        self.assertEqual((self.here / "policy-rc.d").read_text(), "mine")

    def test_every_need_of_a_recipe_is_in_the_list_of_packages(self):
        for one in recipe.recipes():
            setup.wanted([one], tests=True)
        with self.assertRaises(KeyError):
            setup.wanted([recipe.Recipe("x", "02_threads", uses=["no_such"])])

    def test_what_it_refuses(self):
        with self.assertRaisesRegex(Problem, "--peers"):
            setup.main(["--peers"])
        self.assertIn("did you mean lock", self.install("lokc"))


class WithoutPython(Case):
    def start(self, *words):
        return subprocess.run(["sh", str(SCRIPTS / "run"), *words], capture_output=True, text=True)

    def setUp(self):
        super().setUp()
        self.stand_in("id", "echo 1000")
        python = "printf '#!/bin/sh\\necho python3 $*\\n' >$HERE/bin/python3; chmod +x $HERE/bin/python3; "
        self.stand_in("apt-get", STAND_INS["apt-get"].replace("shift 4", python + "shift 4"))

    def test_python_is_installed_first(self):
        done = self.start("lock", "--changes", "3")
        self.assertRegex(done.stdout, r"^python3 \S+/scripts/cookbook run lock --changes 3\n$")
        self.assertIn("python3", self.installed)
        self.assertEqual(self.calls.count("sudo env"), 1)

    def test_not_where_nothing_may_be_installed_or_nothing_can(self):
        for words in (("--no-setup", "lock"), ("--help",)):
            done = self.start(*words)
            self.assertEqual((done.returncode, self.installed), (3, []))
            self.assertIn("python3 is needed", done.stderr)
        (self.here / "bin" / "sudo").unlink()
        done = self.start("lock")
        self.assertEqual((done.returncode, self.installed), (3, []))
        self.assertIn("not root and no sudo", done.stderr)


if __name__ == "__main__":
    unittest.main()
