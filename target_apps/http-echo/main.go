// Go's net/http, as its documentation begins.
package main

import (
	"log"
	"net/http"
)

func main() {
	body := []byte("Hello World\n")
	http.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.Write(body)
	})
	log.Fatal(http.ListenAndServe(":8000", nil))
}
