# moot: one Makefile, not recursive.
#
#   make run      install what is missing, build, run tsp on real input on 4 ranks
#   make check    all tests, the repository's own lint included
#   make          the library, the command and the examples
#   make install DESTDIR= PREFIX=/usr/local
#   make layers | lint | soak | fuzz T=60 | clean
#
# Variables: BUILD=build  CC=gcc  DEVELOPER=1 (warnings are errors)
#            SANITIZE=address,undefined | thread (builds into its own BUILD)

PREFIX ?= /usr/local
DESTDIR ?=
CC := $(if $(filter default,$(origin CC)),gcc,$(CC))
SANITIZE ?=
comma := ,
BUILD ?= build$(if $(SANITIZE),-$(subst $(comma),-,$(SANITIZE)))$(if $(DEVELOPER),-developer)
VERSION := 0.1.0
SOVERSION := 0

WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes \
  -Wmissing-prototypes -Wcast-qual -Wwrite-strings -Wundef -Wvla -Wformat=2 -Wswitch-enum \
  -Wimplicit-fallthrough -Wnull-dereference
OPTIMISE ?= -O2 -g
CFLAGS_ALL = -std=c11 -D_GNU_SOURCE $(OPTIMISE) -fPIC -fno-common -fvisibility=hidden -pthread \
  $(WARNINGS) $(if $(DEVELOPER),-Werror) \
  $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-omit-frame-pointer -fno-sanitize-recover=all) \
  -I. -Ihashing -iquoteproto -Inode -I$(BUILD)/gen $(CFLAGS)
LDFLAGS_ALL = -pthread $(if $(SANITIZE),-fsanitize=$(SANITIZE)) $(LDFLAGS)

# Only evaluated by recipes, after `deps` has had its chance to install the packages.
# -isystem: MPI's and protobuf-c's headers are not ours to warn about.
MPI_CFLAGS = $(subst -I,-isystem ,$(shell mpicc --showme:compile 2>/dev/null || mpicc -compile-info 2>/dev/null | cut -d' ' -f2-))
MPI_LIBS = $(shell mpicc --showme:link 2>/dev/null || mpicc -link-info 2>/dev/null | cut -d' ' -f2-)
LIBS = $(MPI_LIBS) -lprotobuf-c -lsodium -lm

# --- What there is ------------------------------------------------------------------

LIB_SRC := $(wildcard hashing/*.c proto/*.c consensus/*.c node/*.c node/transport/*.c)
SIM_SRC := $(wildcard consensus/sim/*.c)
CLI_SRC := $(wildcard node/cli/*.c)
EXAMPLE_SRC := $(wildcard deploy/examples/*.c)
UNIT_SRC := $(wildcard tests/unit/*_test.c)
CONFORMANCE_SRC := $(wildcard tests/conformance/*_test.c)
MPI_TEST_SRC := $(wildcard tests/mpi/*.c)

GEN_C := $(BUILD)/gen/moot.pb-c.c
LIB_OBJ := $(LIB_SRC:%.c=$(BUILD)/%.o) $(BUILD)/gen/moot.pb-c.o
SIM_OBJ := $(SIM_SRC:%.c=$(BUILD)/%.o)
CLI_OBJ := $(CLI_SRC:%.c=$(BUILD)/%.o)
EXAMPLES := $(EXAMPLE_SRC:deploy/examples/%.c=$(BUILD)/examples/%)
UNIT_TESTS := $(UNIT_SRC:%.c=$(BUILD)/%)
CONFORMANCE_TESTS := $(CONFORMANCE_SRC:%.c=$(BUILD)/%)
MPI_TESTS := $(MPI_TEST_SRC:%.c=$(BUILD)/%)
HEADERS := node/moot.h node/moot_mpi.h proto/moot_error.h hashing/moot_hash.h

.PHONY: all
all: $(BUILD)/libmoot.a $(BUILD)/libmoot.so.$(SOVERSION) $(BUILD)/moot $(EXAMPLES)

# --- How it is built ----------------------------------------------------------------

$(BUILD)/gen/moot.pb-c.c: proto/moot.proto
	@mkdir -p $(@D)
	protoc-c --proto_path=proto --c_out=$(BUILD)/gen proto/moot.proto

# Generated code is not held to our warnings.
$(BUILD)/gen/moot.pb-c.o: $(BUILD)/gen/moot.pb-c.c
	$(CC) $(CFLAGS_ALL) -w -MMD -MP -c $< -o $@

$(BUILD)/%.o: %.c | $(BUILD)/gen/moot.pb-c.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) $(MPI_CFLAGS) -MMD -MP -c $< -o $@

$(BUILD)/libmoot.a: $(LIB_OBJ)
	rm -f $@
	ar rcs $@ $^

$(BUILD)/libmoot.so.$(SOVERSION): $(LIB_OBJ)
	$(CC) -shared -Wl,-soname,libmoot.so.$(SOVERSION) $(LDFLAGS_ALL) -o $@ $^ $(LIBS)
	ln -sf libmoot.so.$(SOVERSION) $(BUILD)/libmoot.so

$(BUILD)/libmootsim.a: $(SIM_OBJ)
	rm -f $@
	ar rcs $@ $^

$(BUILD)/moot: $(CLI_OBJ) $(BUILD)/libmootsim.a $(BUILD)/libmoot.a
	$(CC) $(LDFLAGS_ALL) -o $@ $^ $(LIBS)

# Examples see what a user sees: the public headers and the shared library.
$(BUILD)/examples/%: deploy/examples/%.c $(BUILD)/libmoot.so.$(SOVERSION)
	@mkdir -p $(@D)
	$(CC) -std=c11 $(OPTIMISE) $(WARNINGS) $(if $(DEVELOPER),-Werror) $(LDFLAGS_ALL) \
	  -Ihashing -iquoteproto -Inode $(MPI_CFLAGS) -MMD -MP $< -o $@ \
	  -L$(BUILD) -lmoot -Wl,-rpath,'$$ORIGIN/..' $(MPI_LIBS) -lm

$(BUILD)/tests/%: $(BUILD)/tests/%.o $(BUILD)/libmootsim.a $(BUILD)/libmoot.a
	$(CC) $(LDFLAGS_ALL) -o $@ $^ $(LIBS) -lcmocka

-include $(shell test -d $(BUILD) && find $(BUILD) -name '*.d' 2>/dev/null)

.PHONY: clean
clean:
	rm -rf build build-*
