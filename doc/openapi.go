// Package doc embeds the description of the HTTP interface that stands among the documents. Nothing comes before it in
// the flow; ingest/server answers with it.
package doc

import _ "embed"

// OpenAPI is openapi.yaml.
//
//go:embed openapi.yaml
var OpenAPI []byte
