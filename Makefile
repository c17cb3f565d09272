# hark: two commands for everybody, `make demo` and `make check`; each does its own set-up.
BUILD ?= build

.PHONY: all demo check bench install clean setup
all: setup $(BUILD)/build.ninja
	ninja -C $(BUILD)
setup:
	@.ci/setup
$(BUILD)/build.ninja:
	meson setup $(BUILD) --buildtype=release
demo: all
	@BUILD=$(BUILD) .ci/demo
check:
	@BUILD=$(BUILD) .ci/check
install: all
	meson install -C $(BUILD)
clean:
	rm -rf $(BUILD) $(BUILD)-gcc $(BUILD)-asan $(BUILD)-tsan $(BUILD)*.log
