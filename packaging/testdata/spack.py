# spack.py PREFIX [+slurm]: builds and installs by the recipe, with as much of Spack as it uses.
# Spack itself is not here.
import importlib.util
import os
import shutil
import subprocess
import sys
import types

HERE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Prefix(str):
    def __getattr__(self, name):
        return Prefix(os.path.join(self, name))


class Spec:
    def satisfies(self, variant):
        return variant in sys.argv


class MakefilePackage:
    spec, stage = Spec(), types.SimpleNamespace(source_path=HERE)


def bash(*words, extra_env):
    subprocess.run(("bash",) + words, check=True, env={**os.environ, **extra_env})


api = types.ModuleType("spack.package")
for directive in ("license", "version", "variant", "depends_on", "requires"):
    setattr(api, directive, lambda *words, **options: None)
api.EnvironmentModifications = None
api.join_path = os.path.join
api.install_tree = lambda a, b: shutil.copytree(a, b, symlinks=True, dirs_exist_ok=True)
api.which = lambda name, required: bash
makefile = types.ModuleType("spack_repo.builtin.build_systems.makefile")
makefile.MakefilePackage = MakefilePackage
sys.modules[api.__name__], sys.modules[makefile.__name__] = api, makefile
for name in ("spack", "spack_repo", "spack_repo.builtin", "spack_repo.builtin.build_systems"):
    sys.modules[name] = types.ModuleType(name)

sys.dont_write_bytecode = True
where = importlib.util.spec_from_file_location("recipe", HERE + "/packaging/spack/package.py")
recipe = importlib.util.module_from_spec(where)
where.loader.exec_module(recipe)
package = recipe.Jobeff()
os.chdir(HERE)
subprocess.run(["make", "-s"] + package.build_targets, check=True)
package.install(package.spec, Prefix(sys.argv[1]))
shutil.rmtree("build/spack")
