package gpu

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	_ "github.com/NVIDIA/go-nvml/pkg/dl" // so that go.mod keeps the module, whose nvml.h this test reads
)

// layouts are our structures, with NVML's and the fields of both.
var layouts = []struct {
	ours, theirs string
	fields       string // ours=theirs
}{
	{"struct je_nvml_pci", "nvmlPciInfo_t", "bus_id_legacy=busIdLegacy domain=domain bus=bus device=device device_id=pciDeviceId subsystem_id=pciSubSystemId bus_id=busId"},
	{"struct je_nvml_stats", "nvmlAccountingStats_t", "gpu_percent=gpuUtilization memory_percent=memoryUtilization most_memory=maxMemoryUsage life_ms=time start_us=startTime is_running=isRunning reserved=reserved"},
	{"struct je_nvml_stats_v2", "nvmlAccountingStats_v2_t", "pid=pid is_running=isRunning gpu_percent=gpuUtilization memory_percent=memoryUtilization most_memory=maxMemoryUsage samples=sampleCount gpu_sum=sumGpuUtil memory_sum=sumFbUtil life_ms=time start_us=startTime"},
}

// TestFitsNVMLsHeader: structures, codes and names are those of NVIDIA's nvml.h, as the Go module go-nvml carries it.
func TestFitsNVMLsHeader(t *testing.T) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/NVIDIA/go-nvml").Output()
	if err != nil {
		t.Fatal(err)
	}
	include := filepath.Join(strings.TrimSpace(string(dir)), "pkg", "nvml")
	text := "#include <stddef.h>\n#include <nvml.h>\n#include \"je_nvml.h\"\n"
	assert := func(format string, args ...any) {
		text += fmt.Sprintf("_Static_assert(%s, \"\");\n", fmt.Sprintf(format, args...))
	}
	for _, l := range layouts {
		assert("sizeof(%s) == sizeof(%s)", l.ours, l.theirs)
		for pair := range strings.FieldsSeq(l.fields) {
			our, their, _ := strings.Cut(pair, "=")
			assert("offsetof(%s, %s) == offsetof(%s, %s)", l.ours, our, l.theirs, their)
			assert("__builtin_types_compatible_p(__typeof__(((%s *)0)->%s), __typeof__(((%s *)0)->%s))", l.ours, our, l.theirs, their)
		}
	}
	for our, their := range map[string]string{"NOT_SUPPORTED": "NOT_SUPPORTED", "NO_PERMISSION": "NO_PERMISSION", "NOT_FOUND": "NOT_FOUND", "INSUFFICIENT_SIZE": "INSUFFICIENT_SIZE", "NO_DRIVER": "DRIVER_NOT_LOADED"} {
		assert("JE_NVML_%s == (int)NVML_ERROR_%s", our, their)
	}
	assert("sizeof(((struct je_gpu *)0)->uuid) >= NVML_DEVICE_UUID_V2_BUFFER_SIZE")
	assert("NVML_FEATURE_ENABLED == 1 && NVML_DEVICE_MIG_ENABLE == 1 && (unsigned)NVML_VALUE_NOT_AVAILABLE > 100")
	source, err := os.ReadFile("je_nvml.c")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`"(nvml[A-Za-z0-9_]+)"`).FindAllStringSubmatch(string(source), -1)
	if len(names) < 13 {
		t.Errorf("%d names", len(names))
	}
	text += "void names(void);\nvoid names(void)\n{\n"
	for _, name := range names {
		text += fmt.Sprintf("\t(void)%s;\n", name[1])
	}
	text += "}\n"
	cmd := exec.Command("gcc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-I", include, "-I", ".", "-fsyntax-only", "-x", "c", "-")
	cmd.Stdin = strings.NewReader(text)
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, said)
	}
}
