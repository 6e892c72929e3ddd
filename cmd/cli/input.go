package cli

import (
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/spf13/cobra"
)

// Input opens a file that the command line names, for reading; - is standard input. The file must be
// regular: opening a FIFO, or reading a device, may never end.
func Input(cmd *cobra.Command, path string) (io.ReadCloser, error) {
	if path == "-" {
		return io.NopCloser(cmd.InOrStdin()), nil
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("%w: name a file that you may read, or - for standard input", err)
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, fmt.Errorf("%s is not a regular file: name one, or read it to standard input and name -", path)
	}
	return f, nil
}
