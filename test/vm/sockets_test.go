package vm

import (
	"strings"
	"testing"
)

// tools are programs for a user's shell. ask asks jobeffd over a new connection, again and again until the file in $1 is gone,
// and writes how often it was answered; it fails where it is refused or not answered. squat tries to listen on jobeffd's port as
// long, and fails if it may.
const tools = `
cat >/run/ask.pl <<'END'
use strict; use IO::Socket::UNIX; use IO::Socket::INET;
my ($file, $n) = ($ARGV[0], 0);
do {
	for my $at ("unix", "tcp") {
		my $c = $at eq "unix" ? IO::Socket::UNIX->new(Peer => "/run/jobeffd/jobeffd.sock") : IO::Socket::INET->new(PeerAddr => "127.0.0.1:6822");
		$c or print("$at: refused: $!\n"), exit 1;
		print $c "GET /healthz HTTP/1.0\r\n\r\n";
		$c->flush();
		my $said = <$c>;
		defined $said && $said =~ /^HTTP\/1/ or print("$at: no answer\n"), exit 1;
		$n++;
	}
} while (-e $file);
print "answers: $n\n";
END
cat >/run/squat.pl <<'END'
use strict; use IO::Socket::INET;
my ($file, $n) = ($ARGV[0], 0);
do {
	if (my $l = IO::Socket::INET->new(Listen => 9, LocalAddr => "0.0.0.0", LocalPort => 6822, ReuseAddr => 1)) { print "it listens\n"; exit 1 }
	$n++;
	select(undef, undef, undef, 0.01);
} while (-e $file);
print "tries: $n\n";
END
chmod 644 /run/ask.pl /run/squat.pl`

// during runs a script as root while alice asks jobeffd and bob tries to take its port.
func (m *machine) during(t *testing.T, what, script string) {
	t.Helper()
	m.must(t, tools+`
touch /run/go
runuser -u alice -- perl /run/ask.pl /run/go >/run/asked 2>&1 &
runuser -u bob -- perl /run/squat.pl /run/go >/run/squatted 2>&1 &
sleep 3`)
	m.must(t, script)
	said := m.must(t, "rm /run/go; for i in asked squatted; do until grep -qE ': [1-9]|refused|no answer|listens' /run/$i; do sleep 1; done; cat /run/$i; done")
	t.Logf("result: %s: %s", what, strings.Join(strings.Fields(said), " "))
	if !strings.Contains(said, "answers: ") || !strings.Contains(said, "tries: ") {
		t.Errorf("%s: %s", what, said)
	}
}

// testSocketsHeld: systemd holds jobeffd's addresses while it restarts, is killed, and has failed by a wrong configuration.
func testSocketsHeld(t *testing.T, m *machine) {
	if said := m.must(t, "ss -Hltnp sport = :6822"); !strings.Contains(said, `"systemd"`) {
		t.Errorf("systemd does not listen on the port: %s", said)
	}
	limits := "for u in jobeffd jobeffd-read; do systemctl show -P StartLimitIntervalUSec $u.service; systemctl show -P TriggerLimitIntervalUSec $u.socket; done | xargs"
	if is := strings.TrimSpace(m.must(t, limits)); is != "0 0 0 0" {
		t.Errorf("limits of starts and triggers: %s", is)
	}
	m.during(t, "jobeffd restarts ten times", "for i in 1 2 3 4 5 6 7 8 9 10; do systemctl restart jobeffd; done")
	m.during(t, "the packages are installed again", "dpkg -i /root/jobeff/build/*.deb; "+active)
	m.must(t, "cp /etc/jobeff/jobeff.toml /run/right.toml")

	// alice's question waits until the configuration is right again; jobeffd then starts by itself
	m.during(t, "a wrong configuration, mended", `
echo 'wrong = 1' >>/etc/jobeff/jobeff.toml
systemctl restart jobeffd && exit 1
failed() { journalctl -u jobeffd -o cat | grep -c 'status=78'; }
until [ $(failed) -ge 7 ]; do sleep 1; systemctl is-active jobeffd.socket; done
cp /run/right.toml /etc/jobeff/jobeff.toml
until systemctl is-active jobeffd; do sleep 1; done`)

	m.must(t, `sed -i 's/6822/6829/' /etc/jobeff/jobeff.toml`)
	if said, code := m.try(t, "systemctl restart jobeffd"); code == 0 {
		t.Errorf("jobeffd starts with another port than systemd's: %s", said)
	}
	m.must(t, "journalctl -u jobeffd -o cat | grep 'systemd holds .*:6822 for jobeffd, which no setting names: as root, .jobeffd --sockets && systemctl restart jobeffd.socket.'")
	m.must(t, `jobeffd --sockets && systemctl restart jobeffd.socket; systemctl start jobeffd; ss -Hltnp sport = :6829 | grep '"systemd"'; test -z "$(ss -Hltn sport = :6822)"
cp /run/right.toml /etc/jobeff/jobeff.toml; jobeffd --sockets && systemctl restart jobeffd.socket; systemctl start jobeffd; `+active)
}
