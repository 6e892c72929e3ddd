package etc

// Version is set by the build (Makefile, -X).
var Version = "dev"
