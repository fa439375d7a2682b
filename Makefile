# SPDX-License-Identifier: Apache-2.0
#
# kubectl-etjob. One Makefile, not recursive: a new .c file in a known folder is
# picked up by itself. `make help` lists the targets; CONTRIBUTING.md explains them.
#
#   V=1                      print whole commands
#   WERROR=1                 warnings are errors
#   SANITIZE=address,undefined | thread    build and test with sanitizers, in a folder of their own
#   COVERAGE=1               count lines, in a folder of its own
#   CC=clang                 any C11 compiler that knows GNU attributes

VERSION ?= 0.1.0
PREFIX ?= /usr/local
CFLAGS ?= -O2 -g
PKG_CONFIG ?= pkg-config
CLANG_FORMAT ?= $(firstword $(shell command -v clang-format-14 clang-format) clang-format)
FUZZ_SECONDS ?= 60
.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SUFFIXES:

# --- where -------------------------------------------------------------------
comma := ,
SANITIZE_NAME := $(if $(findstring address,$(SANITIZE)),-asan)$(if $(findstring thread,$(SANITIZE)),-tsan)$(if $(findstring fuzzer,$(SANITIZE)),-fuzz)
BUILD ?= build$(or $(SANITIZE_NAME),$(if $(SANITIZE),-sanitize))$(if $(COVERAGE),-coverage)
OBJ := $(BUILD)/obj

# --- how: what the compiler lacks is left out --------------------------------
try = $(shell printf 'int main(void) { return 0; }\n' | $(CC) -Werror $(1) -x c -c -o /dev/null - 2>/dev/null && echo '$(1)')
WARN := -Wall -Wextra -Wformat=2 -Wconversion -Wshadow -Wvla -Wundef -Wwrite-strings \
	-Wstrict-prototypes -Wmissing-prototypes -Wimplicit-fallthrough -Werror=format-security \
	-Werror=implicit -Werror=incompatible-pointer-types -Werror=int-conversion \
	$(call try,-Wtrampolines) $(call try,-Wbidi-chars=any) $(if $(WERROR),-Werror)
HARDEN := -fstack-protector-strong -fno-delete-null-pointer-checks -fno-strict-overflow \
	-fno-strict-aliasing -fexceptions -fPIE \
	$(call try,-fstack-clash-protection) $(call try,-ftrivial-auto-var-init=zero) \
	$(call try,-fstrict-flex-arrays=3) $(call try,-fzero-init-padding-bits=all) \
	$(call try,-fcf-protection=full) $(call try,-mbranch-protection=standard)
# A sanitizer and _FORTIFY_SOURCE hide each other's findings.
ifneq ($(SANITIZE)$(COVERAGE),)
HARDEN += -U_FORTIFY_SOURCE $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-omit-frame-pointer)
HARDEN += $(if $(COVERAGE),--coverage -O0) $(if $(findstring undefined,$(SANITIZE)),-fno-sanitize-recover=undefined)
else
HARDEN += -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3
endif
DEPS := libcjson yaml-0.1 libcurl libssl libcrypto libmicrohttpd gnutls
DEPS_CFLAGS := $(shell $(PKG_CONFIG) --cflags $(DEPS) 2>/dev/null)
DEPS_LIBS := $(shell $(PKG_CONFIG) --libs $(DEPS) 2>/dev/null)
ifeq ($(DEPS_LIBS)$(filter clean help format test demo,$(MAKECMDGOALS)),)
$(error a library is missing ($(DEPS)): see README.md, "Build", for the packages)
endif
ALL_CPPFLAGS = -Ilib -I. -D_GNU_SOURCE -DETJOB_RELEASE='"$(VERSION)"' $(DEPS_CFLAGS) $(CPPFLAGS)
ALL_CFLAGS = -std=gnu11 $(CFLAGS) $(WARN) $(HARDEN) -pthread
ALL_LDFLAGS = -pie -Wl,-z,relro,-z,now,-z,noexecstack,-z,nodlopen -Wl,--as-needed -pthread \
	$(filter -fsanitize=% --coverage,$(HARDEN)) $(LDFLAGS)

Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-7s %s\n' $(1) '$(subst $(BUILD)/,,$@)')

# --- what --------------------------------------------------------------------
objs = $(patsubst %.c,$(OBJ)/%.o,$(wildcard $(1)))
LIB_OBJS := $(call objs,lib/base/*.c lib/wire/*.c lib/kube/*.c lib/etjob/*.c)
EMBEDDED := $(if $(wildcard plugin/embedded.h),$(BUILD)/gen/embedded.c)
PLUGIN_OBJS := $(call objs,plugin/*.c) $(EMBEDDED:%.c=$(OBJ)/%.o)
WEBHOOK_OBJS := $(call objs,webhook/*.c certs/*.c)
CONTROLLER_OBJS := $(call objs,controller/*.c)
LIB := $(BUILD)/libetjob.a
# A program is its main.o and an archive of the rest, which the tests link too.
PARTS := $(foreach p,plugin webhook controller,$(BUILD)/lib$(p).a)
PROGRAMS := $(if $(wildcard plugin/main.c),$(BUILD)/kubectl-etjob) \
	$(if $(wildcard webhook/main.c),$(BUILD)/etjob-webhook) \
	$(if $(wildcard controller/main.c),$(BUILD)/etjob-controller)

UNIT_OBJS := $(call objs,$(filter-out tests/unit/test_%,$(wildcard tests/unit/*.c)))
UNIT_TESTS := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/unit/test_*.c))
SIM := $(if $(wildcard tests/sim/*.c),$(BUILD)/tests/sim/sim)
FUZZERS := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
REPLAYS := $(patsubst %,$(BUILD)/tests/fuzz/replay_%,$(FUZZERS))
SHIMS := $(patsubst %.c,$(BUILD)/%.so,$(wildcard tests/fault/*.c))
BENCHES := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/bench/*.c))

all: $(LIB) $(PROGRAMS)
tests: $(UNIT_TESTS) $(SIM) $(REPLAYS) $(SHIMS) $(BENCHES)

# --- rules -------------------------------------------------------------------
$(BUILD)/flags: FORCE
	$(shell mkdir -p $(@D))$(file >$@.new,$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(ALL_LDFLAGS) $(DEPS_LIBS))
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

$(OBJ)/%.o: %.c $(BUILD)/flags
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(EXTRA_CFLAGS) -MMD -MP -c -o $@ $<
$(OBJ)/tests/%.o: EXTRA_CFLAGS = -Wno-unused-parameter -Itests/unit

# The plugin carries what it installs.
$(EMBEDDED): scripts/embed scripts/install-yaml $(wildcard manifests/base/*.yaml manifests/crds/*.yaml)
	$(call say,EMBED)
	@mkdir -p $(@D)
	$(Q)scripts/install-yaml | scripts/embed embedded_install >$@

define archive
	$(call say,AR)
	@mkdir -p $(@D) && rm -f $@
	$(Q)$(if $^,$(AR) rcsD $@ $^,printf '!<arch>\n' >$@)
endef
$(LIB): $(LIB_OBJS)
	$(archive)
$(BUILD)/libplugin.a: $(filter-out %/main.o,$(PLUGIN_OBJS))
	$(archive)
$(BUILD)/libwebhook.a: $(filter-out %/main.o,$(WEBHOOK_OBJS))
	$(archive)
$(BUILD)/libcontroller.a: $(filter-out %/main.o,$(CONTROLLER_OBJS))
	$(archive)

define link
	$(call say,LD)
	@mkdir -p $(@D)
	$(Q)$(CC) $(filter-out -fexceptions,$(ALL_CFLAGS)) $(ALL_LDFLAGS) -o $@ $(filter %.o,$^) \
		-Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(EXTRA_LIBS) $(DEPS_LIBS)
endef
$(BUILD)/kubectl-etjob: $(OBJ)/plugin/main.o $(BUILD)/libplugin.a $(LIB)
	$(link)
$(BUILD)/etjob-webhook: $(OBJ)/webhook/main.o $(BUILD)/libwebhook.a $(LIB)
	$(link)
$(BUILD)/etjob-controller: $(OBJ)/controller/main.o $(BUILD)/libcontroller.a $(LIB)
	$(link)

# Unit tests can make the nth call of these fail (tests/unit/fault.h).
WRAPPED := malloc calloc realloc reallocarray strdup strndup \
	read write send recv rename fsync open getrandom
$(UNIT_TESTS): EXTRA_LIBS = $(shell $(PKG_CONFIG) --libs cmocka) \
	$(if $(wildcard tests/unit/fault.c),$(patsubst %,-Wl$(comma)--wrap=%,$(WRAPPED)))
$(UNIT_TESTS): $(BUILD)/tests/unit/%: $(OBJ)/tests/unit/%.o $(UNIT_OBJS) $(PARTS) $(LIB)
	$(link)
$(BUILD)/tests/sim/sim: $(call objs,tests/sim/*.c) $(PARTS) $(LIB)
	$(link)
# With clang and SANITIZE=...,fuzzer the same harness is a fuzzer; else the driver replays a corpus.
$(REPLAYS): $(BUILD)/tests/fuzz/replay_%: $(OBJ)/tests/fuzz/fuzz_%.o $(PARTS) $(LIB) \
	$(if $(findstring fuzzer,$(SANITIZE)),,$(OBJ)/tests/fuzz/driver.o)
	$(link)
$(BENCHES): $(BUILD)/tests/bench/%: $(OBJ)/tests/bench/%.o $(PARTS) $(LIB)
	$(link)
$(BUILD)/tests/fault/%.so: tests/fault/%.c $(BUILD)/flags
	$(call say,SO)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CPPFLAGS) $(filter-out -fsanitize=% -fPIE,$(ALL_CFLAGS)) -fPIC -shared -o $@ $< -ldl

# --- tests -------------------------------------------------------------------
# check: everything that needs no cluster. test: all of it, and the cluster where there can be one.
optional = if [ -e '$(1)' ]; then $(2); else echo '$@: $(1) is not in this tree'; exit 1; fi
export BUILD VERSION FUZZ_SECONDS

# Both scripts install what the build needs first, and then build: a fresh machine lacks it.
test:
	+@$(call optional,scripts/test,scripts/test)
check: check-unit check-fuzz check-sim check-cli
check-unit: $(UNIT_TESTS)
	@scripts/run-tests unit $(UNIT_TESTS)
# make sim HISTORIES=1000000 SEED=7: other histories of the controller's simulator, and more.
sim: $(SIM)
	@for sim in $(SIM); do $$sim --histories=$(or $(HISTORIES),10000) --seed=$(or $(SEED),1) || exit 1; done
check-sim: $(SIM)
	@for sim in $(SIM); do $$sim $(SIM_ARGS) || exit 1; done
check-fuzz: $(REPLAYS)
	@for f in $(FUZZERS); do $(BUILD)/tests/fuzz/replay_$$f tests/fuzz/corpus/$$f || exit 1; done
check-cli: all
	@if ls tests/cli/*.bats >/dev/null 2>&1; then bats tests/cli; fi
check-asan:
	+$(Q)ASAN_OPTIONS=detect_leaks=1 $(MAKE) SANITIZE=address,undefined BUILD=build-asan check
check-fault: all $(SHIMS)
	@tests/fault/sweep
check-tsan:
	+$(Q)$(MAKE) SANITIZE=thread BUILD=build-tsan check-unit
check-valgrind: $(UNIT_TESTS)
	@scripts/run-tests valgrind $(UNIT_TESTS)
check-dist:
	bats tests/dist
test-gitops: all
	@$(call optional,scripts/test,scripts/test gitops)
coverage:
	+$(Q)$(MAKE) COVERAGE=1 BUILD=build-coverage SIM_ARGS="--histories 200" check
	@scripts/coverage build-coverage
fuzz:
	+$(Q)$(MAKE) CC=clang SANITIZE=address,undefined,fuzzer-no-link BUILD=build-fuzz replays LDFLAGS=-fsanitize=fuzzer
	@scripts/fuzz build-fuzz $(FUZZERS)
replays: $(REPLAYS)
bench: all $(BENCHES)
	@$(call optional,scripts/bench,scripts/bench)
demo:
	+@$(call optional,scripts/demo,scripts/demo)
lint:
	+@scripts/lint
print-cppflags:
	@printf '%s\n' $(ALL_CPPFLAGS)
format:
	@$(CLANG_FORMAT) -i $(shell git ls-files '*.c' '*.h')

# --- what leaves the tree ----------------------------------------------------
IMAGE ?= localhost/etjob-servers:$(VERSION)
stage: all
	@scripts/stage $(BUILD)/stage $(BUILD)/etjob-webhook $(BUILD)/etjob-controller
images: stage
	@scripts/oci-image.py --name $(IMAGE) --user 65532:65532 --out $(BUILD)/etjob-image.tar \
		$(BUILD)/stage /usr/bin/etjob-controller
# The plugin with a shell, as CI systems want an image to be.
validate-image: all
	@scripts/stage $(BUILD)/stage-validate $(BUILD)/kubectl-etjob $(shell command -v busybox || echo busybox-static)
	@ln -sf usr/bin $(BUILD)/stage-validate/bin
	@for applet in sh cat cp env find grep ls mkdir rm sed; do \
		ln -sf busybox $(BUILD)/stage-validate/usr/bin/$$applet; done
	@scripts/oci-image.py --name localhost/etjob-validate:$(VERSION) --user 65532:65532 \
		--out $(BUILD)/etjob-validate-image.tar $(BUILD)/stage-validate /usr/bin/kubectl-etjob
docs: all
	@$(call optional,scripts/docs,scripts/docs)
dist: all
	@$(call optional,scripts/dist,scripts/dist)
MANUALS := $(patsubst %,$(BUILD)/man/%.1,$(notdir $(PROGRAMS)))
$(MANUALS): $(BUILD)/man/%.1: $(BUILD)/% scripts/man-page
	$(call say,MAN)
	@mkdir -p $(@D)
	$(Q)scripts/man-page $< >$@
man: $(MANUALS)
# kubectl asks kubectl_complete-etjob for completions; it is the same program.
install: all man
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 0755 $(PROGRAMS) $(DESTDIR)$(PREFIX)/bin
	ln -sf kubectl-etjob $(DESTDIR)$(PREFIX)/bin/kubectl_complete-etjob
	install -m 0644 $(MANUALS) $(DESTDIR)$(PREFIX)/share/man/man1
clean:
	rm -rf build build-asan build-tsan build-fuzz build-coverage dist
help:
	@echo 'all       the library and the three programs, in $(BUILD)/'
	@echo 'check     tests that need no cluster; check-unit, check-cli, check-sim, check-fuzz alone'
	@echo 'test      all tests, also on a cluster of its own where this machine can run one'
	@echo 'demo      a walk on a local cluster (KEEP=1 keeps it, CLUSTER=current uses yours)'
	@echo 'check-asan check-tsan check-valgrind check-fault coverage fuzz bench'
	@echo 'check-dist  the release: same bytes twice, packages, other systems'
	@echo 'test-gitops Argo CD and Flux on the test cluster'
	@echo 'lint format docs man stage images validate-image dist install clean'

.PHONY: sim all tests test check check-unit check-sim check-fuzz check-cli check-asan check-tsan \
	check-valgrind check-dist test-gitops coverage fuzz replays bench demo lint print-cppflags format stage images \
	validate-image docs dist install man \
	clean help FORCE
FORCE:
.SECONDARY:
-include $(shell find $(OBJ) -name '*.d' 2>/dev/null)
