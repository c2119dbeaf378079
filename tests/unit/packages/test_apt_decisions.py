"""What may be removed, who holds the lock: decided without a host."""

import stat
import subprocess
import sys

# Lines of a real `dpkg-query -W` on Debian 12, shortened.
STATUS = "\n".join(
    [
        "containerd\tinstall ok installed\t1.6.20~ds1-1+deb12u3\t, runc (>= 1.0.0~rc2~), libc6 (>= 2.34)\t",
        "runc\tinstall ok installed\t1.1.5+ds1-1\t, libc6 (>= 2.34), libseccomp2 (>= 2.5.0)\t",
        "libseccomp2\tinstall ok installed\t2.5.4-1+deb12u1\tlibc6 (>= 2.33)\t",
        "libc6\tinstall ok installed\t2.36-9\tlibgcc-s1, libcrypt1\t",
        "ufw\tdeinstall ok config-files\t0.36.2-1\tiptables, debconf (>= 0.5) | debconf-2.0\t",
        "iptables\tinstall ok installed\t1.8.9-2\tlibip4tc2 (= 1.8.9-2), netbase (>= 6.0)\t",
        "libip4tc2\tinstall ok installed\t1.8.9-2\tlibc6\t",
        "kubelet\tinstall ok installed\t1.35.4-1.1\tiptables (>= 1.4.21), mount, util-linux\t",
        "mawk\tinstall ok installed\t1.3.4\tlibc6\tawk",
        "needs-awk\tinstall ok installed\t1\tawk\t",
        "exim4\tinstall ok installed\t4.96\t\tmail-transport-agent",
        "cron-mail\tinstall ok installed\t1\texim4 | mail-transport-agent\t",
        "postfix\tinstall ok installed\t3.7\t\tmail-transport-agent",
        "",
    ]
)


def test_a_removed_package_whose_configuration_is_left_counts_as_missing(apt):
    status = apt.parse_status(STATUS)
    assert not status["ufw"].present
    assert status["containerd"].present
    assert status["containerd"].version == "1.6.20~ds1-1+deb12u3"


def test_a_package_and_its_dependencies_may_all_go_when_nothing_else_needs_them(apt):
    ours = {"containerd", "runc", "libseccomp2"}
    assert apt.needed_among(ours, apt.parse_status(STATUS), requested=set()) == set()


def test_a_dependency_of_a_package_that_stays_is_kept(apt):
    ours = {"runc", "libseccomp2"}
    assert apt.needed_among(ours, apt.parse_status(STATUS), requested=set()) == ours


def test_what_another_role_asked_for_stays_with_its_dependencies(apt):
    ours = {"iptables", "libip4tc2", "containerd", "runc"}
    status = {name: package for name, package in apt.parse_status(STATUS).items() if name != "kubelet"}
    assert apt.needed_among(ours, status, requested={"iptables"}) == {"iptables", "libip4tc2"}


def test_a_package_that_somebody_installed_later_keeps_what_it_depends_on(apt):
    assert apt.needed_among({"iptables", "libip4tc2"}, apt.parse_status(STATUS), requested=set()) == {
        "iptables",
        "libip4tc2",
    }


def test_a_provided_name_counts_as_a_dependency(apt):
    assert apt.needed_among({"mawk"}, apt.parse_status(STATUS), requested=set()) == {"mawk"}


def test_an_alternative_that_stays_lets_the_other_one_go(apt):
    assert apt.needed_among({"exim4"}, apt.parse_status(STATUS), requested=set()) == set()


def test_a_record_survives_being_written_and_is_for_root_only(apt, tmp_path):
    directory = tmp_path / "packages"
    record = apt.read_records(str(directory))["machine"]
    record.requested = ["iptables"]
    record.installed = ["iptables", "libip4tc2"]
    apt.write_record(str(directory), record)
    assert apt.read_records(str(directory))["machine"].document() == record.document()
    assert stat.S_IMODE((directory / "machine.json").stat().st_mode) == 0o600
    apt.write_record(str(directory), record, delete=True)
    assert not list(directory.iterdir())


def test_what_came_with_an_installation_that_was_killed_is_known_and_what_others_installed_since_is_not(apt):
    here_before = ["libc6", "libseccomp2", "mawk", "needs-awk"]
    record = apt.Record("containerd", {"requested": ["containerd"], "begun": here_before})
    assert apt.came_with(record, apt.parse_status(STATUS)) == {"containerd", "runc"}


def test_a_free_lock_has_no_holder(apt, tmp_path):
    lock = tmp_path / "lock-frontend"
    lock.touch()
    assert apt.lock_holder((str(lock), str(tmp_path / "missing"))) is None


def test_the_holder_of_a_lock_is_named(apt, tmp_path):
    lock = tmp_path / "lock-frontend"
    lock.touch()
    hold = "import fcntl, sys; f = open(sys.argv[1], 'w'); fcntl.lockf(f, 2); print(flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", hold, str(lock)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        process.stdout.readline()
        held = apt.lock_holder((str(lock),))
        process.kill()
    assert held.path == str(lock)
    assert held.pid == process.pid
    assert sys.executable in held.command
