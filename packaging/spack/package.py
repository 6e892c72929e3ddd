# SPDX-License-Identifier: MIT
from spack_repo.builtin.build_systems.makefile import MakefilePackage

from spack.package import *


class Jobeff(MakefilePackage):
    """Measures the parallel efficiency (POP metrics) of MPI and OpenMP programs: of one run by
    hand, or with +slurm of every job on a cluster."""

    # It has no public address yet: clone it there, or name your clone.
    git = "file:///usr/src/jobeff"

    license("MIT")

    version("main", branch="main")

    variant("slurm", default=False, description="Build Slurm's plugin and the server, too")

    depends_on("c", type="build")
    depends_on("go@1.26:", type="build")
    depends_on("slurm@22-05:", type="build", when="+slurm")

    requires("platform=linux")

    @property
    def build_targets(self):
        return ["build" if self.spec.satisfies("+slurm") else "by-hand"]

    def setup_build_environment(self, env: EnvironmentModifications) -> None:
        if self.spec.satisfies("+slurm"):
            env.set("SLURM_PREFIX", self.spec["slurm"].prefix)

    def install(self, spec, prefix):
        parts = ["jobeff", "by-hand"]
        if spec.satisfies("+slurm"):
            parts = ["jobeff", "jobeff-node", "jobeffd"]
        dest = join_path(self.stage.source_path, "build", "spack")
        bash = which("bash", required=True)
        bash("packaging/install.sh", *parts, extra_env={"DESTDIR": dest, "PREFIX": prefix})
        install_tree(dest + prefix, prefix)
        if spec.satisfies("+slurm"):  # what is for /etc; only root can put it there
            install_tree(join_path(dest, "etc"), prefix.etc)
