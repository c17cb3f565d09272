BUILD ?= build

.PHONY: all check clean
all: $(BUILD)/build.ninja
	ninja -C $(BUILD)
$(BUILD)/build.ninja:
	meson setup $(BUILD)
clean:
	rm -rf $(BUILD)
