/* verb_sim.c - `moot sim`: a cluster that is not there. */
#include "node/cli/sim_verb.h"

static int run(int argc, char **argv)
{
    struct sim_command command;
    int status = sim_options_read(argc, argv, &command);
    if (status == CLI_OK) {
        status = command.sweeps ? sim_sweep(&command)
                 : command.many ? sim_many(&command)
                                : sim_one(&command);
    }
    sim_options_release(&command);
    return status;
}

const struct verb verb_sim = {
    .name = "sim",
    .line = "runs the protocol on a virtual cluster, under faults",
    .usage =
        "sim --ranks N [--seed S | --seeds A..B [--jobs J]]\n"
        "    [--hosts HxR [--route ROUTE]] [--workload W] [--tasks T] [--faults PLAN]\n"
        "    [--trace] [--shrink] [--coverage]\n"
        "    [--sweep SETTING=V,V,...] [--SETTING V ...]\n"
        "\n"
        "Runs the protocol's own code on N virtual ranks, under faults, and checks\n"
        "every run.  The same options give the same run.\n"
        "\n"
        "  --seed S            one run, told whole (default 1)\n"
        "  --seeds A..B        many; failures are told, and a summary\n"
        "  --jobs J            on J processes (default: one for each core)\n"
        "  --workload W        random, agree, skip[:RATE], shuffle, branch[:RATE], "
        "tree,\n"
        "                      chain, array[:RATE], holes[:RATE], steps[:RATE], "
        "cancels[:RATE],\n"
        "                      once[:RATE], hint[:RATE], poison, or a script's file\n"
        "  --hosts HxR         H hosts of R ranks, which is N then; or drawn\n"
        "  --route ROUTE       mesh, star:HOST, tree:K or links:0-1,1-2 (default: "
        "mesh)\n"
        "  --tasks T           the number of tasks (default: 12 to 60, drawn)\n"
        "  --lateness SPREAD   how long a rank computes before each phase\n"
        "  --faults PLAN       a fault plan, or none (default: each seed draws its "
        "own)\n"
        "  --drawn-storm       the plan, in a storm that the seed draws\n"
        "  --steady            an even network (default: drawn)\n"
        "  --latency T  --local-latency T  --jitter T  --poll T  --gaps N  --gap T\n"
        "  --bandwidth RATE  --link-bandwidth RATE   such as 1GB, 10Gbit, none\n"
        "  --step T  --workers N\n"
        "  --ask-delay T  --gossip-period T  --vote-timeout T  --voters N\n"
        "  --crashes N  --divergence repair|strict|trust   (MOOT_DIVERGENCE)\n"
        "  --tree-fanout N     (MOOT_TREE_FANOUT)\n"
        "  --signatures N      programs sign their state with every Nth step\n"
        "  --snapshots N       ranks have disks, and N of a thousand steps wait for a\n"
        "                      snapshot first (default: some random programs)\n"
        "  --reloads N         with --snapshots and faults: N of a thousand meetings\n"
        "                      take all ranks back to one (default: 0)\n"
        "  --disk T            what a disk takes to write, at most\n"
        "  --heartbeat T  --suspect T  --lease T  --quorum-wait T\n"
        "  --direct-max N      where T may be auto: ask-delay, vote-timeout, suspect\n"
        "  --trace             says what happens, sentence by sentence\n"
        "  --shrink            makes a failing run small\n"
        "  --coverage          which messages met ranks in which state\n"
        "  --sweep SETTING=V,V,...  a table over a setting\n"
        "  --canary NAME       breaks the simulator itself; some check has to see it\n"
        "\n"
        "Exit status: 0; 1 if a check failed; 2 if the command line is wrong; 3 if no\n"
        "check failed, but a rule of the plan that had to fire never did, or no check\n"
        "saw the canary.  See moot-sim(1).",
    .run = run,
};
