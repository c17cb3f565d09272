# hark: two commands for everybody, `make demo` and `make check`; each does its own set-up.
BUILD ?= build

.PHONY: all demo check bench bench-papers bench-partition bench-recovery bench-recovery-messages bench-sim bench-stall coverage errata fuzz kill-matrix lines memory mutants mutants-src verify verify-large soak install clean setup
all: setup $(BUILD)/build.ninja
	ninja -C $(BUILD)
setup:
	@.ci/setup
$(BUILD)/build.ninja:
	meson setup $(BUILD) --buildtype=release
demo: setup $(BUILD)/build.ninja
	ninja -C $(BUILD) src/cli/hark examples/cg
	@BUILD=$(BUILD) .ci/demo
check:
	@BUILD=$(BUILD) .ci/check
# bench.sh is the last: its last line says whether the machine was quiet enough, and make fails if not.
bench: all
	ninja -C $(BUILD) bench/pingpong bench/bench-core bench/bench-log bench/bench-match bench/shm_raw bench/uv_raw bench/floor bench/instructions
	@bench/machine.sh
	$(BUILD)/bench/bench-core $(BUILD)/bench/core.json
	$(BUILD)/bench/bench-match $(or $(ROUNDS),5)
	bench/sim.sh $(BUILD) $(or $(ROUNDS),5) $(MOST)
	bench/bench.sh $(if $(LIMIT),--limit $(LIMIT)) $(BUILD) $(ROUNDS)
bench-sim: all
	bench/sim.sh $(BUILD) $(or $(ROUNDS),5) $(MOST)
bench-recovery: all
	bench/recovery.sh $(BUILD) $(MOST)
bench-recovery-messages: all
	ninja -C $(BUILD) bench/roundtrips
	bench/recovery-messages.sh $(BUILD) $(or $(ROUNDS),3) $(MOST)
bench-stall: all
	ninja -C $(BUILD) bench/stall
	@bench/machine.sh
	bench/stall.py $(BUILD) $(or $(MOST),1024)
bench-papers: all
	bench/papers/hydee-table1.sh $(BUILD)/src/cli/hark $(MATRICES)
	bench/papers/sendet-clusters.sh $(BUILD)/src/cli/hark $(MATRICES)
	bench/papers/camel-log.sh $(BUILD)/src/cli/hark $(or $(ITERATIONS),10)
	bench/papers/protocols.sh $(BUILD)/src/cli/hark test/data/patterns 64 256
	ninja -C $(BUILD) bench/objects
	bench/papers/teams-balance.sh $(BUILD)/src/cli/hark $(BUILD)/bench/objects $(BUILD)/lbtest.svg
bench-partition: all
	ninja -C $(BUILD) bench/bench-partition
	@bench/machine.sh
	$(BUILD)/bench/bench-partition $(or $(DATA),test/data/patterns)
coverage:
	@BUILD=$(BUILD) .ci/coverage
fuzz: setup
	test/fuzz/fuzz.sh $(BUILD)-fuzz $(or $(T),600) $(NAMES)
kill-matrix: all
	@bench/machine.sh
	test/kill/all.sh $(abspath $(BUILD)) $(or $(SEEDS),20) $(or $(JOBS),2)
verify: all
	(bench/machine.sh; echo; test/scenario/verify/verify.sh $(BUILD)/src/cli/hark $(or $(MEMORY),8G)) | tee $(BUILD)/verification.md
verify-large: all
	@bench/machine.sh
	test/scenario/verify/pairs.sh $(BUILD)/src/cli/hark test/scenario/verify/wa-2.hark $(or $(MEMORY),12G) $(or $(JOBS),2)
	$(BUILD)/src/cli/hark check --max-memory 16G test/scenario/verify/bound-fig4-1.hark
soak: all
	test/scenario/soak.sh $(BUILD)/src/cli/hark $(BUILD)/examples $(or $(T),600)
lines: all
	$(BUILD)/test/sim/test-lines 1 10000
memory: all
	$(BUILD)/test/kill/test-kill-memory
mutants: setup
	test/mutants/run.sh $(MUTANT)
mutants-src: setup
	MUTANTS=$(BUILD)-mutants test/mutants/source.py -n $(or $(N),60) -s $(or $(SEED),1) -j $(or $(JOBS),1) $(MUTANT)
errata: setup
	docs/errata/draw.sh $(MUTANT)
# Only what is installed is built.
install: setup $(BUILD)/build.ninja
	ninja -C $(BUILD) $$(.ci/installed $(BUILD))
	meson install --no-rebuild -C $(BUILD)
	[ "$$(id -u)" != 0 ] || ldconfig # programs find the shared libraries
clean:
	rm -rf $(BUILD) $(BUILD)-gcc $(BUILD)-asan $(BUILD)-tsan $(BUILD)-fuzz $(BUILD)-cov $(BUILD)-mutants $(BUILD)*.log
