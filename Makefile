# SPDX-License-Identifier: MIT
SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -ec

BUILD := build
PREFIX ?= /usr/local
DESTDIR ?=

# A new source file is a reason to configure again.
FOLDERS := host lib arch/* mm api lab lab/explore lab/scenarios bench cli tests
SOURCES = $(shell tools/list-sources $(FOLDERS)) \
	$(sort $(wildcard lab/mutants/*.patch))
AGAIN = $(if $(wildcard $(BUILD)/build.ninja),--reconfigure)

# Silent but for what goes wrong.
MESON = out=$$(meson $(1) 2>&1) || { echo "$$out"; exit 1; }
NINJA = ninja --quiet -C $(BUILD) $(1) | \
	{ grep -vx 'ninja: no work to do.' || :; }

.PHONY: build bench check check-long install clean setup

build: setup
	@if ! echo '$(SOURCES)' | cmp -s - $(BUILD)/sources; then \
		$(call MESON,setup $(AGAIN) $(BUILD)); \
		echo '$(SOURCES)' >$(BUILD)/sources; \
	fi
	@$(call NINJA)

setup:
	@tools/setup

bench: build
	@$(BUILD)/pinfold bench

check: build
	@$(call NINJA,tests)
	@tools/run-tests $(BUILD)

check-long: build
	@$(call NINJA,tests tests-tsan)
	@tools/run-tests --long $(BUILD)

install: build
	@$(call MESON,configure $(BUILD) -Dprefix='$(PREFIX)')
	@$(call NINJA)
	@DESTDIR='$(DESTDIR)' meson install -C $(BUILD) --no-rebuild --quiet

clean:
	rm -rf $(BUILD)
