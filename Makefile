# What a developer runs. `make test` is what CI runs; it needs Go and does the rest of its set-up itself.

BENCH ?= -write docs/benchmarks.md
FOR ?= 2h
SEEDS ?= 20
VERSION ?= $(shell git describe --always --dirty 2>/dev/null || echo dev)

.PHONY: nightly soak build test lint fuzz bench docs clean

build: ## bin/tributary, a single static binary
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o bin/tributary ./cmd/tributary

test: ## everything that must hold before a change is merged
	@scripts/test

lint: ## gofmt, go vet, staticcheck, licences of what is linked
	@scripts/lint

fuzz: ## every fuzz target for a while: make fuzz FUZZ_SECONDS=600
	@scripts/fuzz

bench: ## measure everything and write docs/benchmarks.md, about 10 minutes; make bench BENCH='-quick -only http' looks at a part
	go run ./internal/bench $(BENCH)

soak: ## faults that take minutes, need root, or both, four hours together; make soak SOAK=Mix FOR=10m, or SOAK=Seeds SEEDS=5
	FAULTS_SOAK=1 go test ./internal/faults -run 'TestSoak$(SOAK)' -v -count 1 -timeout 8h -for $(FOR) -seeds $(SEEDS)

nightly: ## what takes too long for every change: counted instructions, a stop and a restart at every event of the stories, half an hour of fuzzing, the soak
	go test ./internal/bench/... -count 1
	PAGE_SCALE=1 go test ./ui -run Thousands -count 1 -timeout 30m
	STAY_EVERY=1 go test ./internal/story -run 'TestWhatTabsShowedIsWhatAReloadShows|TestTheRichestStory' -count 1 -timeout 2h
	FUZZ_SECONDS=1800 scripts/fuzz
	$(MAKE) soak

docs: ## regenerate what is generated: docs/events.md, the licences in docs/dependencies.md
	go test ./internal/eventdoc -run TestEventsPageIsCurrent -update
	go run ./internal/licences -page docs/dependencies.md -write

clean:
	rm -rf bin
