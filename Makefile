# moot: one Makefile, not recursive.
#
#   make run          install what is missing, build, run tsp on real input on 4 ranks
#   make check        all tests, the repository's own lint included
#   make check-fast   two minutes of them, for the work in between
#   make              the library, the command and the examples, in build/; once, and the
#                     same bit by bit each time
#   make PROFILE=1    the same, compiled by counts of the library's own work: twice
#   make install DESTDIR= PREFIX=/usr/local | uninstall
#   make deps | deps-check      the Debian packages to build with, and to test with
#   make tests | layers | lint | mutants | coverage | fuzz T=60 | chaos T=10m | fleet | soak | scale |
#        model M=quick | virtual SEEDS=1..20000
#   make bench-quick | bench    METG beside hand-written MPI; bench-costs | bench-wires |
#                               bench-hosts | bench-attack | bench-crowd | bench-changing |
#                               bench-storing | bench-micro | bench-long | bench-others | bench-profile
#   make doc          the documents and the manual as HTML, in BUILD/doc
#   make clean
#
# Variables: BUILD=build  CC=gcc  DEVELOPER=1 (warnings are errors)
#            SANITIZE=address,undefined | thread (builds into its own BUILD)
#            COVERAGE=1 (counts the arms that are reached: make coverage)
#            LTO= (libmoot.so's files are optimised each by itself, as in a developer's or a
#            sanitizer's build: it links in no time)
#            PROFILE=1 (the library is compiled a second time, by what programs have shown
#            of it: small tasks take less time, the build three times as long, and no two
#            builds are the same)
#            AS_IT_IS=1 (what is there was made with other flags, and that is to be so)
#            WITHOUT=ucx,zmq (what needs the library of that name is left out)
#            JOBS=(cores)  TESTS="unit mpi ..." (what check runs; see tests/run.sh)

PREFIX ?= /usr/local
DESTDIR ?=
CC := $(if $(filter default,$(origin CC)),gcc,$(CC))
SANITIZE ?=
comma := ,
COVERAGE ?=
BUILD ?= build$(if $(COVERAGE),-coverage)$(if $(SANITIZE),-$(subst $(comma),-,$(SANITIZE)))$(if $(DEVELOPER),-developer)
VERSION := 0.1.0
SOVERSION := 0

WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes \
  -Wmissing-prototypes -Wcast-qual -Wwrite-strings -Wundef -Wvla -Wformat=2 -Wswitch-enum \
  -Wimplicit-fallthrough -Wnull-dereference
OPTIMISE ?= $(if $(FAULTS),-O1,-O2 -g)
# gcc on x86 clears and copies structs of some 200 bytes by string instructions, which
# take longer to begin than libc's functions take for all of it.
STRINGS := $(shell printf '' | $(CC) -mmemset-strategy=libcall:-1:noalign -x c -c -o /dev/null - 2>/dev/null && \
  echo -mmemset-strategy=unrolled_loop:64:noalign,libcall:-1:noalign -mmemcpy-strategy=unrolled_loop:64:noalign,libcall:-1:noalign)
# A call into another library jumps there itself, not by a table of jumps.
CALLS = -fno-plt
# Where BUILD lies is not to be seen in what is built.
PATHS = $(foreach what,debug macro,-f$(what)-prefix-map=$(BUILD)/=build/)
CFLAGS_ALL = -std=c11 -D_GNU_SOURCE $(OPTIMISE) $(STRINGS) $(CALLS) $(PATHS) -fPIC -fno-common -fvisibility=hidden -pthread \
  $(WARNINGS) $(if $(DEVELOPER),-Werror) \
  $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-omit-frame-pointer -fno-sanitize-recover=all) \
  $(if $(COVERAGE),--coverage -O0 -DNDEBUG -w -DMOOT_COVERAGE='"$(BUILD)"') \
  -I. -I$(BUILD)/gen $(CFLAGS)
# A task passes through functions of some forty files: optimised together they take a
# fifth fewer instructions.  More of them in each other's place (-O3) take a tenth less
# time, but only without copies for certain arguments, which push each other out of the
# instruction cache.
LTO ?= $(if $(DEVELOPER)$(SANITIZE)$(COVERAGE),,yes)
TOGETHER := -O3 -fno-ipa-cp-clone -flto=auto -ffat-lto-objects
LTO_FLAGS := $(if $(LTO),$(shell printf '' | $(CC) -Werror $(TOGETHER) -x c -c -o /dev/null - 2>/dev/null && \
  echo $(TOGETHER)))
# With PROFILE=1 gcc decides by counts what is worth taking into its callers, and which way
# a branch goes: of a library in COUNTED, compiled to count (PROFILE=count), and worked by
# deploy/train.sh.  Small tasks take up to a fifth less time so.  That library's build has
# said all warnings.
PROFILE ?=
BY_COUNTS := -fprofile-use -fprofile-partial-training -w
COUNTED := $(if $(filter-out count,$(PROFILE)),$(shell printf '' | \
  $(CC) -Werror $(BY_COUNTS) -x c -c -o /dev/null - 2>/dev/null && echo $(BUILD)/counted))
COUNTING := $(if $(filter count,$(PROFILE)),-fprofile-generate -fprofile-update=prefer-atomic)
# The counts lie where that library's objects do; static functions go by that path, too.
COUNTS = $(COUNTED)/$(if $(filter %.pb-c.c,$<),gen,$(<D))/
PROFILE_FLAGS = $(COUNTING) $(if $(COUNTED),$(shell test ! -f $(COUNTS)$(*F).gcda || \
  echo $(BY_COUNTS) -dumpdir $(COUNTS)))
LDFLAGS_ALL = -pthread $(COUNTING) $(if $(COVERAGE),--coverage) $(if $(SANITIZE),-fsanitize=$(SANITIZE)) $(LDFLAGS)

# Only evaluated by recipes, after `deps` has had its chance to install the packages.
# -isystem: MPI's and protobuf-c's headers are not ours to warn about.
MPI_CFLAGS = $(subst -I,-isystem ,$(shell mpicc --showme:compile 2>/dev/null || mpicc -compile-info 2>/dev/null | cut -d' ' -f2-))
MPI_LIBS = $(shell mpicc --showme:link 2>/dev/null || mpicc -link-info 2>/dev/null | cut -d' ' -f2-)
LIBS = $(MPI_LIBS) -lprotobuf-c -lsodium -lzip -ljansson -llmdb -lxxhash -lm

# --- What there is ------------------------------------------------------------------

# The rooms of the tree, lowest first; tests/tidy/rooms.txt says which may use which.
BASE_ROOMS := hashing/base hashing/blake2b hashing hashing/fingerprint proto
CORE_ROOMS := $(addprefix consensus/,faultplan shape state signature gossip ownership elements reclaim termination meeting snapshot \
  membership step link route)
NODE_ROOMS := $(addprefix node/,config context channel wires/stream wires/tcp transport transport/carrier transport/mpi transport/shm transport/inproc \
  transport/host arrays diskstore store tasks engine record members session faults checkpoint schedule explain spawn compose reference service api)
WIRE_ROOMS := node/wires/ucx
SIM_ROOMS := $(addprefix consensus/sim/,engine programs checks runs)
TOOL_ROOMS := node/tools
CLI_ROOMS := node/launchers node/launch node/agent node/cli
sources = $(wildcard $(addsuffix /*.c,$(1)))

LIB_SRC := $(call sources,$(BASE_ROOMS) $(CORE_ROOMS) $(NODE_ROOMS))
SIM_SRC := $(call sources,$(SIM_ROOMS))
TOOL_SRC := $(call sources,$(TOOL_ROOMS))
CLI_SRC := $(call sources,$(CLI_ROOMS))
# Transports and launchers of one's own are shared objects, the other examples programs.
# Parts made of ZeroMQ are built where that is installed.
ZMQ_HEADER := $(if $(filter zmq,$(subst $(comma), ,$(WITHOUT))),,\
  $(firstword $(wildcard /usr/include/zmq.h /usr/local/include/zmq.h)))
NO_ZMQ_SRC := $(if $(ZMQ_HEADER),,deploy/examples/transport_zmq.c deploy/examples/zmq_broker.c)
EXAMPLE_SO_SRC := $(filter-out $(NO_ZMQ_SRC),$(wildcard deploy/examples/launcher_*.c deploy/examples/transport_*.c))
EXAMPLE_SRC := $(filter-out $(EXAMPLE_SO_SRC) $(NO_ZMQ_SRC),\
  $(wildcard deploy/examples/*.c deploy/examples/tutorial/*.c))
SCRIPTS := $(wildcard deploy/*.sh deploy/*/*.sh tests/*.sh tests/*/*.sh) .ci/run
MAN := $(wildcard deploy/man/*.[1-9])
UNIT_SRC := $(wildcard tests/unit/*_test.c)
# Tests of the core on the bench.
CORE_UNITS := array_adopt array_cancel array_map asking await boundary cancel core core_memory crash deserted drop drop_round drop_view element_waits elements homes keeper last_holder leave link nested_array newcomer \
  lost lot meeting parts quiet rare referral reload snapshot rare_asks rare_views refusal scope signature silence spread strict stub timers verdict view view_rules
CONFORMANCE_SRC := $(wildcard tests/conformance/*_test.c)
SIM_TEST_SRC := $(wildcard tests/sim/*_test.c)
MPI_TEST_SRC := $(wildcard tests/mpi/*.c)
MPI_PART_SRC := $(wildcard tests/mpi/*/*.c)
FUZZ_SRC := $(wildcard tests/fuzz/*_fuzz.c)
BENCH_PART_SRC := $(addprefix tests/bench/,bench.c pattern.c graph.c by_hand.c by_moot.c by_arrays.c search.c \
  beside.c kit.c ways.c micro_codec.c micro_core.c micro_arrays.c micro_spawn.c \
  alone.c)
BENCH_SRC := $(filter-out $(BENCH_PART_SRC) tests/bench/slow_clock.c tests/bench/starpu.c tests/bench/wires_ucx.c,\
  $(wildcard tests/bench/*.c))

GEN_C := $(BUILD)/gen/moot.pb-c.c
LIB_OBJ := $(LIB_SRC:%.c=$(BUILD)/%.o) $(BUILD)/gen/moot.pb-c.o
SIM_OBJ := $(SIM_SRC:%.c=$(BUILD)/%.o)
TOOL_OBJ := $(TOOL_SRC:%.c=$(BUILD)/%.o)
CLI_OBJ := $(CLI_SRC:%.c=$(BUILD)/%.o) $(BUILD)/gen/report_page.o
EXAMPLES := $(addprefix $(BUILD)/examples/,$(notdir $(EXAMPLE_SRC:.c=)))
EXAMPLE_OBJECTS := $(EXAMPLE_SO_SRC:deploy/examples/%.c=$(BUILD)/examples/%.so)
UNIT_TESTS := $(UNIT_SRC:%.c=$(BUILD)/%)
CONFORMANCE_TESTS := $(CONFORMANCE_SRC:%.c=$(BUILD)/%)
SIM_TESTS := $(SIM_TEST_SRC:%.c=$(BUILD)/%)
MPI_TESTS := $(MPI_TEST_SRC:%.c=$(BUILD)/%)
BENCHES := $(BENCH_SRC:%.c=$(BUILD)/%)
INNER_BENCHES := $(addprefix $(BUILD)/tests/bench/,micro large scaling)
FUZZERS := $(FUZZ_SRC:tests/%.c=$(BUILD)/%)
HEADERS := $(addprefix node/api/,moot.h moot_array.h moot_mpi.h moot_checkpoint.h moot_data.h moot_fingerprint.h moot_launcher.h moot_queue.h moot_reference.h moot_session.h moot_stream.h \
  moot_transport.h moot_watch.h) \
  proto/moot_error.h hashing/moot_hash.h hashing/fingerprint/moot_ndarray.h

USER_HEADERS := $(addprefix $(BUILD)/include/,$(notdir $(HEADERS)))

# Objects of programs are kept, so that a program is linked again and not compiled again.
.SECONDARY:

# A build alone uses all cores, unless it is told how many; other targets ask for them.
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
ifeq ($(MAKELEVEL)$(filter-out all install tests,$(MAKECMDGOALS)),0)
MAKEFLAGS += -j$(JOBS)
endif

.PHONY: all
all: $(BUILD)/libmoot.a $(BUILD)/libmoot.so.$(SOVERSION) $(BUILD)/moot $(USER_HEADERS) $(EXAMPLES) $(EXAMPLE_OBJECTS) wires

# --- How it is built ----------------------------------------------------------------

# Other flags than BUILD was made with make all of it anew.  But a library that is there
# is installed as it is, whatever is said then, and so the tests' own makes take BUILD.
ifeq ($(MAKECMDGOALS),install)
AS_IT_IS ?= $(wildcard $(BUILD)/libmoot.so.$(SOVERSION))
endif
FLAGS_FILE := $(if $(AS_IT_IS),,$(BUILD)/flags)
FLAGS := $(strip $(CC) $(subst $(BUILD)/,,$(CFLAGS_ALL)) $(LTO_FLAGS) \
  $(if $(COUNTED),$(BY_COUNTS)) $(LDFLAGS_ALL))
ifneq ($(FLAGS),$(shell cat $(BUILD)/flags 2>/dev/null))
$(BUILD)/flags: changed
endif
.PHONY: changed
changed:
$(BUILD)/flags:
	@mkdir -p $(@D)
	@printf '%s\n' '$(subst ','\'',$(FLAGS))' >$@

$(BUILD)/gen/moot.pb-c.c: proto/moot.proto
	@mkdir -p $(@D)
	protoc-c --proto_path=proto --c_out=$(BUILD)/gen proto/moot.proto

# Generated code is not held to our warnings.
$(BUILD)/gen/moot.pb-c.o: $(BUILD)/gen/moot.pb-c.c $(FLAGS_FILE)
	$(CC) $(CFLAGS_ALL) -w -MMD -MP -MT $@ -c $< -o $@

# The page of `moot report`: its files as arrays.
PAGE := $(addprefix node/cli/report.,html css js)
$(BUILD)/gen/report_page.c: $(PAGE)
	@mkdir -p $(@D)
	{ echo '#include "node/cli/report_page.h"'; for file in $(PAGE); do \
	  name=report_$${file##*.}; echo "const unsigned char $$name[] = {"; \
	  od -An -v -tu1 $$file | sed 's/\([0-9][0-9]*\)/\1,/g'; \
	  echo "0};"; echo "const size_t $${name}_size = sizeof $$name - 1;"; done; } >$@.new
	mv $@.new $@

$(BUILD)/gen/report_page.o: $(BUILD)/gen/report_page.c $(FLAGS_FILE)
	$(CC) $(CFLAGS_ALL) -MMD -MP -MT $@ -c $< -o $@

$(BUILD)/%.o: %.c $(FLAGS_FILE) | $(BUILD)/gen/moot.pb-c.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) $(MPI_CFLAGS) -MMD -MP -MT $@ -c $< -o $@

# With FAULTS=OTHER the core is compiled from copies that have faults in them, which the
# environment switches on (tests/faults/faults.py): `make mutants` alone does so.  All else of
# the library is taken from the build OTHER.
ifdef FAULTS
FAULTY := $(BUILD)/faulty
FAULTY_SRC := $(call sources,$(filter-out consensus/faultplan,$(CORE_ROOMS)))
FAULTY_OBJ := $(FAULTY_SRC:%.c=$(BUILD)/%.o) $(FAULTY)/fault_on.o
$(FAULTY)/woven: $(FAULTY_SRC) tests/faults/faults.txt tests/faults/faults.py
	tests/faults/faults.py weave $(FAULTY)
	@touch $@
$(FAULTY_SRC:%=$(FAULTY)/%) $(FAULTY)/fault_on.c: $(FAULTY)/woven ;
$(FAULTY_SRC:%.c=$(BUILD)/%.o): $(BUILD)/%.o: $(FAULTY)/%.c $(FLAGS_FILE) | $(GEN_C)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) -MMD -MP -MT $@ -c $< -o $@
$(FAULTY)/fault_on.o: $(FAULTY)/fault_on.c $(FLAGS_FILE)
	$(CC) $(CFLAGS_ALL) -MMD -MP -MT $@ -c $< -o $@
# A core with faults takes longer to make than to run, so it is hardly optimised, and tests on the bench not at all.
$(CORE_UNITS:%=$(BUILD)/tests/unit/%_test.o): OPTIMISE := -O0
# They have the link's and the route's source in them.
$(BUILD)/tests/unit/link_test.o $(BUILD)/tests/unit/ways_test.o: CFLAGS_ALL += -iquote $(FAULTY)
$(BUILD)/tests/unit/link_test.o $(BUILD)/tests/unit/ways_test.o: | $(FAULTY)/woven
endif

# Its objects hold what the linker optimises beside their code; whoever links the archive
# takes their code.
$(LIB_OBJ): CFLAGS_ALL += $(LTO_FLAGS) $(PROFILE_FLAGS)

ifneq ($(COUNTED),)
$(LIB_OBJ): $(COUNTED)/done
# As old as its beginning: what has changed since is to be counted anew.  Objects that
# count name where their counts go, which is elsewhere if the tree has moved.
$(COUNTED)/done: $(LIB_SRC) $(wildcard $(addsuffix /*.h,$(BASE_ROOMS) $(CORE_ROOMS) consensus $(NODE_ROOMS))) proto/moot.proto \
  $(EXAMPLE_SRC) deploy/train.sh $(FLAGS_FILE)
	@grep -qsxF '$(abspath $(COUNTED))' $(COUNTED)/begun || rm -rf $(COUNTED)
	@mkdir -p $(COUNTED)
	@echo '$(abspath $(COUNTED))' >$(COUNTED)/begun
	@$(MAKE) --no-print-directory BUILD=$(COUNTED) PROFILE=count trained
	deploy/train.sh $(COUNTED)
	@cp -p $(COUNTED)/begun $@
endif

ifndef FAULTS
$(BUILD)/libmoot.a: $(LIB_OBJ)
	rm -f $@
	ar rcs $@ $^
	$(if $(LTO_FLAGS),objcopy --wildcard --remove-section='.gnu.lto_*' $@)

$(BUILD)/libmootsim.a: $(SIM_OBJ)
	rm -f $@
	ar rcs $@ $^

# What reads traces, snapshots and sheets: the command's, and its tests'.
$(BUILD)/libmoottools.a: $(TOOL_OBJ)
	rm -f $@
	ar rcs $@ $^

else
# No two files of the library have one name, so those with faults take their own's places.
$(BUILD)/libmoot.a: $(FAULTS)/libmoot.a $(FAULTY_OBJ)
	cp $< $@
	ar rs $@ $(FAULTY_OBJ)
$(BUILD)/libmoottools.a $(BUILD)/libmootsim.a: $(BUILD)/%: $(FAULTS)/%
	@mkdir -p $(@D)
	cp $< $@
endif

$(BUILD)/libmoot.so.$(SOVERSION): $(LIB_OBJ)
	$(CC) -shared -Wl,-soname,libmoot.so.$(SOVERSION) $(OPTIMISE) $(CALLS) $(LTO_FLAGS) $(if $(COUNTED),-w) $(LDFLAGS_ALL) -o $@ $^ $(LIBS)
	ln -sf libmoot.so.$(SOVERSION) $(BUILD)/libmoot.so

$(BUILD)/moot: $(CLI_OBJ) $(BUILD)/libmoottools.a $(BUILD)/libmootsim.a $(BUILD)/libmoot.a
	$(CC) $(LDFLAGS_ALL) -o $@ $^ $(LIBS)

# Transports that are loaded when asked for, so that the library does not need what they
# need.  Where that is not installed the build says so and goes on without.
UCX_HEADER := $(if $(filter ucx,$(subst $(comma), ,$(WITHOUT))),,\
  $(firstword $(wildcard /usr/include/ucp/api/ucp.h /usr/local/include/ucp/api/ucp.h)))
UCX_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(call sources,$(WIRE_ROOMS)))
.PHONY: wires
ifeq ($(UCX_HEADER),)
wires:
	@echo 'without the transport ucx: $(if $(WITHOUT),WITHOUT=$(WITHOUT),libucx-dev is not installed (make deps))'
else
wires: $(BUILD)/wires/ucx.so
endif
$(BUILD)/wires/ucx.so: $(UCX_OBJ)
	@mkdir -p $(@D)
	$(CC) -shared $(LDFLAGS_ALL) -o $@ $^ -lucp -lucs

# In the tree a header is named by its path; users have all of them in one folder.
$(BUILD)/include/%.h:
	@mkdir -p $(@D)
	sed 's,^#include ".*/,#include ",' $< >$@

$(foreach header,$(HEADERS),$(eval $(BUILD)/include/$(notdir $(header)): $(header)))

# Examples see what a user sees: the public headers and the shared library.
define BUILD_EXAMPLE
@mkdir -p $(@D)
$(CC) -std=c11 $(OPTIMISE) $(PATHS) $(WARNINGS) $(if $(DEVELOPER),-Werror) $(LDFLAGS_ALL) \
  -I$(BUILD)/include $(MPI_CFLAGS) -MMD -MP -MT $@ $< -o $@ \
  -L$(BUILD) -lmoot -Wl,-rpath,'$$ORIGIN/..:$$ORIGIN/../../../lib' $(MPI_LIBS) -lm $(EXAMPLE_LIBS)
endef
$(BUILD)/examples/%: deploy/examples/%.c $(BUILD)/libmoot.so.$(SOVERSION) $(USER_HEADERS)
	$(BUILD_EXAMPLE)
$(BUILD)/examples/%: deploy/examples/tutorial/%.c $(BUILD)/libmoot.so.$(SOVERSION) $(USER_HEADERS)
	$(BUILD_EXAMPLE)

$(BUILD)/examples/transport_%.so: deploy/examples/transport_%.c $(BUILD)/libmoot.so.$(SOVERSION) $(USER_HEADERS)
	$(BUILD_EXAMPLE) -shared -fPIC
$(BUILD)/examples/zmq_broker $(BUILD)/examples/transport_zmq.so: EXAMPLE_LIBS := -lzmq

# Launchers need nothing of moot but its headers.
$(BUILD)/examples/%.so: deploy/examples/%.c $(USER_HEADERS)
	@mkdir -p $(@D)
	$(CC) -std=c11 -shared -fPIC $(OPTIMISE) $(PATHS) $(WARNINGS) $(if $(DEVELOPER),-Werror) $(LDFLAGS_ALL) \
	  -I$(BUILD)/include -MMD -MP -MT $@ $< -o $@

# To be linted they are compiled as parts of the tree are.
EXAMPLE_ALL_SRC := $(EXAMPLE_SRC) $(EXAMPLE_SO_SRC)
$(EXAMPLE_ALL_SRC:%.c=$(BUILD)/%.o): CFLAGS_ALL += -I$(BUILD)/include
$(EXAMPLE_ALL_SRC:%.c=$(BUILD)/%.o): $(USER_HEADERS)

$(BUILD)/tests/%: $(BUILD)/tests/%.o $(BUILD)/libmoottools.a $(BUILD)/libmootsim.a $(BUILD)/libmoot.a
	$(CC) $(LDFLAGS_ALL) -o $@ $^ $(LIBS) -lcmocka

# Launchers and agents are the command's.
$(BUILD)/tests/unit/launchers_test: $(BUILD)/tests/unit/launchers_test.o \
  $(patsubst %.c,$(BUILD)/%.o,$(call sources,node/launchers)) $(BUILD)/libmoot.a
	$(CC) $(LDFLAGS_ALL) -o $@ $^ $(LIBS) -lcmocka
$(BUILD)/tests/unit/agent_stream_test: $(BUILD)/tests/unit/agent_stream_test.o \
  $(BUILD)/node/launch/agent_stream.o $(BUILD)/libmoot.a
	$(CC) $(LDFLAGS_ALL) -o $@ $^ $(LIBS) -lcmocka
$(BUILD)/tests/unit/growth_test: $(BUILD)/tests/unit/growth_test.o \
  $(BUILD)/node/launch/growth.o $(BUILD)/libmoot.a
	$(CC) $(LDFLAGS_ALL) -o $@ $^ $(LIBS) -lcmocka
$(BUILD)/tests/unit/crew_test: $(BUILD)/tests/unit/crew_test.o \
  $(BUILD)/node/launch/relay.o $(BUILD)/node/launch/signals.o $(BUILD)/libmoot.a
	$(CC) $(LDFLAGS_ALL) -o $@ $^ $(LIBS) -lcmocka

# These fail the library's n-th allocation (tests/unit/failing_alloc.h, or their own).
$(BUILD)/tests/unit/wire_test $(BUILD)/tests/unit/rankset_test \
  $(BUILD)/tests/unit/place_table_test $(BUILD)/tests/unit/element_wishes_test \
  $(BUILD)/tests/unit/range_set_test $(BUILD)/tests/unit/array_schedule_test $(BUILD)/tests/unit/schedule_cache_test \
  $(BUILD)/tests/unit/core_memory_test \
  $(BUILD)/tests/conformance/unnamed_memory_test \
  $(BUILD)/tests/conformance/queue_memory_test: \
  LDFLAGS_ALL += -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=free
$(BUILD)/tests/sim/starve_test: LDFLAGS_ALL += -Wl,--wrap=core_step,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=free
$(BUILD)/tests/conformance/cancel_memory_test: LDFLAGS_ALL += -Wl,--wrap=pool_take
$(BUILD)/tests/conformance/registering_test: LDFLAGS_ALL += -Wl,--wrap=engine_step
$(BUILD)/tests/unit/disk_prune_test: LDFLAGS_ALL += -Wl,--wrap=prune_write
$(BUILD)/tests/unit/disk_clock_test: LDFLAGS_ALL += -Wl,--wrap=clock_gettime
$(BUILD)/tests/conformance/no_thread_test: LDFLAGS_ALL += -Wl,--wrap=pthread_create

# The explorer puts the memory of whole worlds aside.
EXPLORE_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/explore/*.c))
$(BUILD)/tests/explore/explore: $(EXPLORE_OBJ) $(BUILD)/libmoot.a
	$(CC) $(LDFLAGS_ALL) -o $@ $^ $(LIBS) -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=free \
	  -Wl,--wrap=memory_take,--wrap=memory_take_raw,--wrap=memory_give

# Virtual ranks ask the test's world for what is the system's.
VIRTUAL_WRAPS := pthread_mutex_lock pthread_mutex_unlock pthread_cond_wait pthread_cond_timedwait \
  pthread_cond_signal pthread_cond_broadcast pthread_create pthread_join pthread_key_create \
  pthread_getspecific pthread_setspecific sched_yield nanosleep clock_gettime clock_begin getpid kill \
  stand_still malloc calloc realloc aligned_alloc posix_memalign strdup free mmap munmap \
  watch_new watch_free watch_next \
  open close read write lseek fsync fdatasync fstat lstat mkdir rmdir unlink rename link opendir fdopendir readdir \
  closedir fcntl realpath statfs mkostemp fchmod sync_file_range gethostname randombytes_random \
  pthread_sigmask nice diskstore_open
VIRTUAL_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/virtual/*.c tests/medley/*.c) \
  tests/mpi/support/error_table.c)
$(BUILD)/tests/virtual/virtual: $(VIRTUAL_OBJ) $(BUILD)/libmoot.a
	$(CC) $(LDFLAGS_ALL) -o $@ $^ $(LIBS) $(VIRTUAL_WRAPS:%=-Wl,--wrap=%)

# The benchmark's graphs are tested without MPI.
$(BUILD)/tests/unit/pattern_test: $(BUILD)/tests/bench/pattern.o

# Programs under mpirun, and what they share.
$(BUILD)/libmpitest.a: $(MPI_PART_SRC:%.c=$(BUILD)/%.o)
	rm -f $@
	ar rcs $@ $^

$(MPI_TESTS): $(BUILD)/%: $(BUILD)/%.o $(BUILD)/libmpitest.a $(BUILD)/libmootsim.a $(BUILD)/libmoot.a
	$(CC) $(LDFLAGS_ALL) -o $@ $^ $(LIBS)

$(BUILD)/libbench.a: $(BENCH_PART_SRC:%.c=$(BUILD)/%.o)
	rm -f $@
	ar rcs $@ $^

# What is measured is the library that programs link; the archive brings what a harness
# asks of hashing/ (which rank has a task) and nothing that is measured.
$(filter-out $(INNER_BENCHES),$(BENCHES)) $(BUILD)/tests/bench/starpu $(BUILD)/tests/bench/wires_ucx: $(BUILD)/%: $(BUILD)/%.o $(BUILD)/libbench.a \
  $(BUILD)/libmoot.so.$(SOVERSION) $(BUILD)/libmoot.a
	$(CC) $(LDFLAGS_ALL) -o $@ $(filter %.o,$^) $(BUILD)/libbench.a -L$(BUILD) -l:libmoot.so.$(SOVERSION) \
	  $(BUILD)/libmoot.a -Wl,-rpath,'$$ORIGIN/../..' $(LIBS)

# Another runtime beside it, where that is installed (bench-others).
$(BUILD)/tests/bench/starpu.o: CFLAGS_ALL += $(patsubst -I%,-isystem %,$(shell pkg-config --cflags starpu-1.3))
$(BUILD)/tests/bench/starpu: LIBS += $(shell pkg-config --libs starpu-1.3)

# UCX by itself, beside the transport over it (bench-wires).
$(BUILD)/tests/bench/wires_ucx: LIBS += -lucp -lucs
BENCH_UCX := $(if $(UCX_HEADER),$(BUILD)/tests/bench/wires_ucx)

# The programs that train.sh runs, and the launcher.
.PHONY: trained
trained: $(BUILD)/moot $(addprefix $(BUILD)/examples/,cholesky heat tree queues conditional tsp) \
  $(addprefix $(BUILD)/tests/bench/,trust spawning voting)

# Preloaded by profile.sh.
$(BUILD)/tests/bench/slow_clock.so: $(BUILD)/tests/bench/slow_clock.o
	$(CC) -shared $(LDFLAGS_ALL) -o $@ $<

# Their parts are seen from within only.  They are optimised as the library is, which takes as long as
# the library; not for `make check`, which looks at no figure (MICRO_LTO=-fno-lto).
MICRO_LTO = $(LTO_FLAGS)
$(INNER_BENCHES): $(BUILD)/%: $(BUILD)/%.o $(BUILD)/libbench.a $(LIB_OBJ)
	$(CC) $(OPTIMISE) $(MICRO_LTO) $(LDFLAGS_ALL) -o $@ $^ $(LIBS)

# Fuzzers have instrumented objects of their own: what each may drive, built once.
FUZZ_LIB_SRC := $(call sources,$(BASE_ROOMS) $(CORE_ROOMS) consensus/sim/programs) \
  $(wildcard node/config/*.c) \
  $(addprefix node/explain/,snapshot_read.c job_snapshot.c array_cause.c diagnosis.c dispute.c stall.c stall_array.c \
  stall_cause.c stall_hosts.c overrun.c) \
  $(wildcard node/arrays/*.c node/diskstore/*.c) \
  $(addprefix node/tools/,state_text.c state_session.c state_json.c json.c) \
  $(addprefix node/transport/,exchange.c exchange_rings.c transfer.c hello.c transport.c) \
  $(filter-out %/carrier.c %/cards.c %/newcomers.c,$(call sources,$(addprefix node/transport/,carrier shm host)))
FUZZ_LIB_OBJ := $(FUZZ_LIB_SRC:%.c=$(BUILD)/fuzz/lib/%.o) $(BUILD)/fuzz/lib/gen/moot.pb-c.o
FUZZ_CFLAGS := -std=c11 -D_GNU_SOURCE -O1 -g -fsanitize=address,undefined \
  -fno-sanitize-recover=all -I. -I$(BUILD)/gen

$(BUILD)/fuzz/lib/gen/moot.pb-c.o: $(GEN_C)
	@mkdir -p $(@D)
	clang $(FUZZ_CFLAGS) -fsanitize=fuzzer-no-link -w -c $< -o $@

$(BUILD)/fuzz/lib/%.o: %.c | $(GEN_C)
	@mkdir -p $(@D)
	clang $(FUZZ_CFLAGS) -fsanitize=fuzzer-no-link $(CFLAGS) -MMD -MP -MT $@ -c $< -o $@

$(BUILD)/fuzz/libfuzzed.a: $(FUZZ_LIB_OBJ)
	rm -f $@
	ar rcs $@ $^

$(FUZZERS): $(BUILD)/fuzz/%: $(BUILD)/fuzz/lib/tests/fuzz/%.o $(BUILD)/fuzz/libfuzzed.a
	clang $(FUZZ_CFLAGS) -fsanitize=fuzzer -o $@ $^ -lprotobuf-c -lsodium -lzip -ljansson -llmdb -lxxhash -lm

# The same stories without a fuzzer, for a build that counts.
$(BUILD)/tests/fuzz/stories: $(BUILD)/tests/fuzz/stories.o $(BUILD)/tests/fuzz/events_fuzz.o \
  $(BUILD)/libmootsim.a $(BUILD)/libmoot.a
	$(CC) $(LDFLAGS_ALL) -o $@ $^ $(LIBS)

-include $(shell test -d $(BUILD) && find $(BUILD) -name '*.d' 2>/dev/null)

# --- How it is used -----------------------------------------------------------------

AGAIN = $(MAKE) --no-print-directory -j$(JOBS)

# Debian 12's names.  A second make then sees what the packages brought.
PACKAGES := gcc make libopenmpi-dev openmpi-bin libsodium-dev protobuf-compiler \
  protobuf-c-compiler libprotobuf-c-dev libcmocka-dev libucx-dev libzmq3-dev libzip-dev libjansson-dev liblmdb-dev libxxhash-dev pkg-config
PACKAGES_CHECK := g++ clang clang-format-15 clang-tidy libclang-rt-14-dev shellcheck mandoc binutils \
  python3 python3-numpy iproute2 nftables openssh-client openssh-server munge slurm-wlm

.PHONY: deps deps-check run
deps:
	@deploy/debian-deps.sh $(PACKAGES)

deps-check:
	@deploy/debian-deps.sh $(PACKAGES) $(PACKAGES_CHECK)

run: deps
	@deploy/build.sh $(BUILD) $(AGAIN) all
	@echo "running tsp on 4 ranks: a search in which each rank leaves out what it alone knows to be too long"
	$(BUILD)/moot run -n 4 tsp deploy/examples/burma14.tsp
	@echo "next: deploy/doc/TUTORIAL.md, five small programs, in twenty minutes"

# --- How it is tested ---------------------------------------------------------------

TESTS ?= layers lint man unit conformance sim explore virtual mutants fuzz mpi cli
TESTS_FAST := lint-fast seeds layers conformance unit cli-fast

.PHONY: tests tests-fast check check-fast soak fuzz layers
tests: all $(UNIT_TESTS) $(CONFORMANCE_TESTS) $(SIM_TESTS) $(MPI_TESTS) $(BENCHES) $(BENCH_UCX) \
  $(BUILD)/tests/explore/explore $(BUILD)/tests/virtual/virtual \
  $(BUILD)/tests/bench/slow_clock.so

tests-fast: all $(SIM_OBJ) $(TOOL_OBJ) $(CLI_OBJ) $(UNIT_TESTS) $(CONFORMANCE_TESTS)

CHECKED = $(AGAIN) DEVELOPER=1 LTO=$(CHECK_LTO) BUILD=$(CHECK_BUILD)
check: deps-check
	@deploy/build.sh $(CHECK_BUILD) $(CHECKED) MICRO_LTO=-fno-lto tests $(if $(filter fuzz,$(TESTS)),fuzzers)
	@tests/run.sh $(CHECK_BUILD) $(TESTS)

check-fast: deps-check
	@deploy/build.sh $(CHECK_BUILD) $(CHECKED) tests-fast
	@tests/run.sh -j 3 $(CHECK_BUILD) $(TESTS_FAST)

# make check is a developer's build even if DEVELOPER is not given, of what users get.
CHECK_LTO := $(if $(filter command,$(firstword $(origin LTO))),$(LTO),$(if $(SANITIZE),,yes))
CHECK_BUILD := $(if $(filter file,$(origin BUILD)),$(BUILD)$(if $(DEVELOPER),,-developer),$(BUILD))

# Random programs under random faults on real ranks, new seeds for so long: T=90s, 10m, 2h.
.PHONY: chaos
chaos: deps-check
	@$(AGAIN) -s DEVELOPER=1 LTO=$(CHECK_LTO) BUILD=$(CHECK_BUILD) tests
	@BUILD=$(CHECK_BUILD) sh tests/cli/chaos_test.sh --for $(T)

# Jobs on hosts of namespaces by ssh: many moments of a host's death, many cuts, routes.
.PHONY: fleet
fleet: deps-check
	@$(AGAIN) -s DEVELOPER=1 LTO=$(CHECK_LTO) BUILD=$(CHECK_BUILD) tests
	@BUILD=$(CHECK_BUILD) sh tests/cli/fleet.sh

# Which arms of the core's conditions the simulator, its storms and the explorer reach, in a
# build that counts them; M=full takes an hour.
COVER_BUILD := $(BUILD)-coverage
COVER = $(AGAIN) -s COVERAGE=1 BUILD=$(COVER_BUILD)
COVER_TESTS = $(addprefix $(COVER_BUILD)/tests/,sim/swarm_test sim/storm_test sim/starve_test explore/explore \
  virtual/virtual fuzz/stories $(patsubst %,unit/%_test,$(CORE_UNITS)))
.PHONY: coverage
coverage: deps-check
	@$(COVER) all $(COVER_TESTS)
	@tests/coverage.sh $(COVER_BUILD) $(M)

soak: deps-check
	@$(AGAIN) -s DEVELOPER=1 LTO=$(CHECK_LTO) BUILD=$(CHECK_BUILD) tests
	@tests/run.sh $(CHECK_BUILD) soak

T ?= 60
.PHONY: fuzzers
fuzzers: $(FUZZERS)
fuzz: deps-check
	@$(AGAIN) -s fuzzers
	@FUZZ_SECONDS=$(T) tests/run.sh $(BUILD) fuzz

# The core with its rules switched off one by one, and with one fault at a time: what sees
# each?  A build of its own, of the core and of these tests; the rest of the library is BUILD's.
# And the rules that find a stall's cause.
MUTANT_BUILD := $(BUILD)-mutants
MUTANT_TESTS := $(addprefix $(MUTANT_BUILD)/tests/,sim/mutants sim/trace_test sim/storm_test \
  sim/swarm_test explore/explore $(patsubst %,unit/%_test,$(CORE_UNITS) tune))
.PHONY: mutants
mutants: deps-check
	@$(AGAIN) -s $(addprefix $(BUILD)/,libmoot.a libmoottools.a libmootsim.a $(addprefix tests/unit/,diagnosis_test disk_snapshot_test snapshot_checker_test))
	@$(AGAIN) -s BUILD=$(MUTANT_BUILD) FAULTS=$(BUILD) PROFILE= LTO= CFLAGS=-DMOOT_MUTANTS $(MUTANT_TESTS)
	$(MUTANT_BUILD)/tests/sim/trace_test --mutants
	$(MUTANT_BUILD)/tests/sim/mutants
	tests/faults/faults.py run $(MUTANT_BUILD)
	tests/unit/diagnosis_mutants.sh $(BUILD)
	tests/unit/snapshot_mutants.sh $(BUILD)

# What a moot costs as it grows, to 10,000 ranks; takes minutes and 10 GB.  With DOC=1 all
# that deploy/doc/SCALING.md shows is made anew, and written into it.
.PHONY: scale
scale:
	@$(AGAIN) -s $(BUILD)/moot $(addprefix $(BUILD)/tests/sim/,scale_test scale_view_test ends_test adapt_test)
	$(if $(DOC),deploy/doc/rerun.py $(BUILD) deploy/doc/SCALING.md,$(BUILD)/tests/sim/scale_test --table)
	$(if $(DOC),,$(BUILD)/tests/sim/scale_view_test --table)

# Speed, as ratios to what is written by hand; wants a machine that does nothing else.
BENCH_PARTS := $(addprefix bench-,quick costs wires hosts attack crowd changing storing micro long)
.PHONY: bench $(BENCH_PARTS)
bench $(BENCH_PARTS): deps
	@$(AGAIN) -s all $(BENCHES) $(BENCH_UCX) $(BUILD)/tests/mpi/steady
	@tests/bench/run.sh $(BUILD) $(or $(patsubst bench-%,%,$(filter bench-%,$@)),all)

# Beside another runtime, from Debian's package of it.
.PHONY: bench-others
bench-others: deps
	@deploy/debian-deps.sh libstarpu-dev
	@$(AGAIN) -s $(BUILD)/tests/bench/starpu
	@tests/bench/run.sh $(BUILD) others

# What a task is spent on, by callgrind: WORK="step-8 step-2 spawn local".
.PHONY: bench-profile
bench-profile: deps
	@$(AGAIN) -s $(BUILD)/tests/bench/profiled $(BUILD)/tests/bench/slow_clock.so
	@tests/bench/profile.sh $(BUILD) $(WORK)

# The protocol's models, by SPIN: M=quick (a minute), full (over twenty minutes, 6 GB) or mutants.
M ?= quick
.PHONY: model
model:
	@deploy/debian-deps.sh gcc spin
	tests/model/run.sh $(M)

# Every order of small scenes, on the real core: M=quick (seconds) or full (minutes).
.PHONY: explore
explore: deps-check
	@$(AGAIN) -s DEVELOPER=1 LTO= BUILD=$(CHECK_BUILD)-explore $(CHECK_BUILD)-explore/tests/explore/explore
	$(CHECK_BUILD)-explore/tests/explore/explore $(if $(filter quick,$(M)),--quick)

# Whole ranks in virtual time, on other seeds than make check has.
SEEDS ?= 1001..20000
.PHONY: virtual
virtual: deps-check
	@$(AGAIN) -s DEVELOPER=1 LTO=$(CHECK_LTO) BUILD=$(CHECK_BUILD) $(CHECK_BUILD)/tests/virtual/virtual
	$(CHECK_BUILD)/tests/virtual/virtual --seeds $(SEEDS)

# Storms on hosts, likewise, each seed on several numbers of ranks.
.PHONY: hosts
hosts: deps-check
	@$(AGAIN) -s DEVELOPER=1 LTO=$(CHECK_LTO) BUILD=$(CHECK_BUILD) $(CHECK_BUILD)/moot
	for ranks in 4 6 8 12; do \
	  $(CHECK_BUILD)/moot sim --ranks $$ranks --hosts drawn --seeds $(SEEDS) || exit; \
	done

layers: all $(SIM_OBJ) $(TOOL_OBJ) $(CLI_OBJ)
	tests/tidy/layers.py $(BUILD)
	tests/tidy/layers_test.py

# All documents and the manual as HTML, linked, in BUILD/doc.
.PHONY: doc
doc:
	@deploy/debian-deps.sh pandoc mandoc python3
	@python3 deploy/doc/doc.py html $(BUILD)/doc

# --- How it should look -------------------------------------------------------------

LINT_SRC := $(LIB_SRC) $(SIM_SRC) $(TOOL_SRC) $(CLI_SRC) $(EXAMPLE_ALL_SRC) $(if $(UCX_HEADER),$(call sources,$(WIRE_ROOMS)))
ALL_ROOMS := $(BASE_ROOMS) $(CORE_ROOMS) consensus $(SIM_ROOMS) $(NODE_ROOMS) $(WIRE_ROOMS) $(TOOL_ROOMS) $(CLI_ROOMS)
FORMAT_SRC := $(wildcard $(addsuffix /*.[ch],$(ALL_ROOMS)) tests/*/*.[ch] tests/*/*/*.[ch] deploy/examples/*.[ch] deploy/examples/*/*.[ch])

.PHONY: lint lint-text lint-links lint-format lint-scripts lint-man lint-c
lint: lint-text lint-links lint-format lint-scripts lint-man lint-c
lint-text:
	tests/tidy/tidy.sh
lint-links:
	python3 deploy/doc/doc.py check
lint-format:
	clang-format-15 --dry-run -Werror $(FORMAT_SRC)
lint-scripts:
	shellcheck $(SCRIPTS)
lint-man:
	mandoc -T lint -W warning $(MAN)
# The analyser gives a function up after so many states: a third of its own limit, as in `make
# soak`.  In `make check` it is 4000, enough for short functions, which takes a fifth of the time.
LINT_NODES ?= 75000
LINTED := $(BUILD)/lint/$(LINT_NODES)
LINT_STATES := -Xclang -analyzer-config -Xclang max-nodes=$(LINT_NODES)

lint-c: $(LINT_SRC:%.c=$(LINTED)/%.ok)

# A file is looked at again when it, or a header that it includes, has changed.
$(LINTED)/%.ok: %.c .clang-tidy $(BUILD)/%.o
	@mkdir -p $(@D)
	clang-tidy --quiet $< -- -std=c11 -D_GNU_SOURCE -I. -I$(BUILD)/gen -I$(BUILD)/include $(MPI_CFLAGS) $(LINT_STATES) 2>$@.noise || { cat $@.noise; exit 1; }
	@touch $@

# --- How it is installed --------------------------------------------------------------

INSTALL ?= install
BINDIR = $(DESTDIR)$(PREFIX)/bin
LIBDIR = $(DESTDIR)$(PREFIX)/lib
INCLUDEDIR = $(DESTDIR)$(PREFIX)/include
LIBEXECDIR = $(DESTDIR)$(PREFIX)/libexec/moot/examples
DOCDIR = $(DESTDIR)$(PREFIX)/share/doc/moot
MANDIR = $(DESTDIR)$(PREFIX)/share/man
BASHDIR = $(DESTDIR)$(PREFIX)/share/bash-completion/completions
ZSHDIR = $(DESTDIR)$(PREFIX)/share/zsh/site-functions
DOCS := README.md CHANGELOG.md CITATION.cff LICENSE consensus/PROTOCOL.md $(wildcard deploy/doc/*.md)
EXAMPLE_FILES := $(wildcard deploy/examples/*.* deploy/examples/tutorial/*) deploy/slurm/moot.sbatch
# Where the loader does not look by itself, or not before ldconfig, programs say where.
PC_RPATH = $(if $(filter-out /usr,$(PREFIX)),-Wl$(comma)-rpath$(comma)$${libdir})

.PHONY: install uninstall
install: all
	$(INSTALL) -d $(BINDIR) $(LIBDIR)/pkgconfig $(INCLUDEDIR) $(LIBEXECDIR) \
	  $(DOCDIR)/examples $(MANDIR)/man1 $(MANDIR)/man3 $(MANDIR)/man7 $(BASHDIR) $(ZSHDIR)
	$(INSTALL) -m 755 $(BUILD)/moot $(BINDIR)
	$(INSTALL) -m 644 $(BUILD)/libmoot.a $(LIBDIR)
	$(INSTALL) -m 755 $(BUILD)/libmoot.so.$(SOVERSION) $(LIBDIR)/libmoot.so.$(VERSION)
	ln -sf libmoot.so.$(VERSION) $(LIBDIR)/libmoot.so.$(SOVERSION)
	ln -sf libmoot.so.$(SOVERSION) $(LIBDIR)/libmoot.so
	$(INSTALL) -m 644 $(USER_HEADERS) $(INCLUDEDIR)
	$(if $(UCX_HEADER),$(INSTALL) -d $(LIBDIR)/moot)
	$(if $(UCX_HEADER),$(INSTALL) -m 755 $(BUILD)/wires/ucx.so $(LIBDIR)/moot)
	sed -e 's,@PREFIX@,$(PREFIX),' -e 's,@VERSION@,$(VERSION),' \
	  -e 's,@MPI_LIBS@,$(MPI_LIBS),' -e 's| *@RPATH@|$(PC_RPATH:%= %)|' deploy/moot.pc.in >$(LIBDIR)/pkgconfig/moot.pc
	$(BUILD)/moot completion bash >$(BASHDIR)/moot
	$(BUILD)/moot completion zsh >$(ZSHDIR)/_moot
	$(INSTALL) -m 755 $(EXAMPLES) $(EXAMPLE_OBJECTS) $(LIBEXECDIR)
	$(INSTALL) -m 644 $(EXAMPLE_FILES) $(DOCDIR)/examples
	$(INSTALL) -m 644 $(wildcard $(DOCS)) $(DOCDIR)
	deploy/man/install.sh $(MANDIR) $(MAN)

uninstall:
	rm -f $(BINDIR)/moot $(BASHDIR)/moot $(ZSHDIR)/_moot $(LIBDIR)/libmoot.a $(LIBDIR)/libmoot.so \
	  $(LIBDIR)/libmoot.so.$(SOVERSION) $(LIBDIR)/libmoot.so.$(VERSION) \
	  $(LIBDIR)/pkgconfig/moot.pc $(addprefix $(INCLUDEDIR)/,$(notdir $(HEADERS)))
	rm -rf $(DESTDIR)$(PREFIX)/libexec/moot $(LIBDIR)/moot $(DOCDIR)
	deploy/man/install.sh -u $(MANDIR) $(MAN)

.PHONY: clean
clean:
	rm -rf build build-*
