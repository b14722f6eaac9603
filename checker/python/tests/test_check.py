"""The installed package, used as anybody would. Run by .ci/ecosystem with the Python that the wheel was installed into."""

import doctest
import os
import sys
import tempfile
import unittest

import fencepost

RACE = "kernel race { launch { ctas: 2 } global x: u32 = 0; st.weak [x], 7; }\n"


class Check(unittest.TestCase):
    def test_text(self):
        report = fencepost.check(text=RACE)
        self.assertEqual((report.exit_code, report.passes), (1, False))
        self.assertEqual([finding["code"] for finding in report.findings], ["race::uniform"])
        self.assertTrue(fencepost.check(text=RACE.replace("ctas: 2", "ctas: 1")).passes)

    def test_files_and_options(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a ü.fence")
            with open(path, "w", encoding="utf-8") as file:
                file.write("const N = 1;\n" + RACE.replace("7", "N"))
            self.assertFalse(fencepost.check(path).passes)
            self.assertFalse(fencepost.check(folder).passes)
            self.assertTrue(fencepost.check(path, property=["deadlock", "bounds"]).passes)
            self.assertEqual(fencepost.check(path, define={"M": 2}).exit_code, 2)
            self.assertFalse(fencepost.check(path, define={"N": 2}, no_warnings=True, budget=5).passes)
            with open(os.path.join(folder, "fencepost.toml"), "w", encoding="utf-8") as file:
                file.write('properties = ["deadlock"]\n')
            self.assertTrue(fencepost.check(cwd=folder).passes)

    def test_what_is_rejected_is_told(self):
        report = fencepost.check(text="kernel {")
        self.assertEqual((report.exit_code, report.launches), (2, []))
        self.assertEqual(report.rejected[0]["errors"][0]["code"].split("::")[0], "syntax")
        self.assertIn("syntax::", report.messages)

    def test_what_is_no_option(self):
        with self.assertRaises(fencepost.Error) as caught:
            fencepost.check(text=RACE, bugdet=3)
        self.assertIn("--budget", str(caught.exception))
        with self.assertRaises(TypeError):
            fencepost.check(text=RACE, format="sarif")
        with self.assertRaises(ValueError):
            fencepost.check("a.fence", text=RACE)

    def test_the_command_is_that_of_the_package(self):
        self.assertTrue(fencepost.command().startswith(sys.prefix), fencepost.command())

    def test_the_example_of_the_module(self):
        failed, tried = doctest.testmod(fencepost)
        self.assertEqual(failed, 0)
        self.assertGreater(tried, 1)


if __name__ == "__main__":
    unittest.main()
