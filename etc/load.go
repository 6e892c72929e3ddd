package etc

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/BurntSushi/toml"
)

// DefaultPath is the configuration file if nobody names another one.
const DefaultPath = "/etc/jobeff/jobeff.toml"

// KillSwitch is the file whose existence switches measuring off, whatever the
// configuration says.
const KillSwitch = "/etc/jobeff/off"

// maxFileBytes bounds what Load reads: no real configuration comes near it.
const maxFileBytes = 256 << 10

var (
	//go:embed jobeff.toml
	shipped []byte
	//go:embed rare.toml
	rare []byte
)

// Default is the shipped configuration, with the rare settings that it does not name. It panics only if an embedded
// file is broken, which a test excludes.
func Default() *Config { return defaults(decode, shipped) }

// DefaultNode is Default without the rules. They are most of the text, and each prolog and epilog would wait for them.
func DefaultNode() *Config {
	before, _, _ := bytes.Cut(shipped, []byte("\n[[rule]]"))
	return defaults(decodeNode, before)
}

func defaults(decode func(*Config, string, []byte) error, text []byte) *Config {
	c := new(Config)
	_, err := toml.Decode(string(rare), c)
	if err == nil {
		err = decode(c, "built-in jobeff.toml", text)
	}
	if err != nil {
		panic(err)
	}
	return c
}

// Path returns the configuration file of a command that a person or a unit starts: $JOBEFF_CONFIG, else
// DefaultPath. Root's code in Slurm's contexts must not call it, since a job can set that variable there.
func Path() string {
	if p := os.Getenv("JOBEFF_CONFIG"); p != "" {
		return p
	}
	return DefaultPath
}

// Load reads the file at path over the shipped defaults; "" means DefaultPath.
// A missing DefaultPath is no error; any other path must exist.
func Load(path string) (*Config, error) { return load(path, Default, decode) }

// LoadNode is Load for the plugin, without the rules. jobeffd reports a mistake in a rule.
func LoadNode(path string) (*Config, error) { return load(path, DefaultNode, decodeNode) }

func load(path string, defaults func() *Config, decode func(*Config, string, []byte) error) (*Config, error) {
	if path == "" {
		path = DefaultPath
	}
	text, err := read(path)
	if errors.Is(err, fs.ErrNotExist) && path == DefaultPath {
		return defaults(), nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("configuration %s does not exist: name another with JOBEFF_CONFIG, or unset it to use %s", path, DefaultPath)
	}
	if err != nil {
		return nil, fmt.Errorf("configuration cannot be read: %w", err)
	}
	c := defaults()
	if err := decode(c, path, text); err != nil {
		return nil, err
	}
	return c, nil
}

// read returns a file's text. It refuses a FIFO, and a file that is too large for a configuration.
func read(path string) ([]byte, error) {
	if info, err := os.Stat(path); err == nil && info.Mode()&fs.ModeNamedPipe != 0 { // to open it may never end
		return nil, fmt.Errorf("%s is a FIFO: write a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxFileBytes {
		return nil, fmt.Errorf("%s is larger than %d KiB", path, maxFileBytes>>10)
	}
	return text, nil
}
