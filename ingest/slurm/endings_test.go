package slurm

import (
	"fmt"
	"strings"
	"testing"
)

// TestExitCodes: newer JSON tells exit codes of 128 and more, from which sacct's other form takes
// 128. They are read as one.
func TestExitCodes(t *testing.T) {
	for code, want := range map[int]string{0: "0:0", 9: "9:0", 127: "127:0", 137: "9:0", 200: "72:0", 255: "127:0"} {
		text := strings.Replace(newJSON, `"return_code":{"set":false,"infinite":false,"number":0}`, fmt.Sprintf(`"return_code":{"set":true,"infinite":false,"number":%d}`, code), 1)
		text = strings.Replace(text, `"number":9},"name":"KILL"`, `"number":0},"name":""`, 1)
		jobs, _, _, err := ParseJSON([]byte(text), testUIDs)
		if err != nil || len(jobs) != 1 || jobs[0].ExitCode != want {
			t.Errorf("%d: %+v, %v", code, jobs, err)
		}
	}
}
