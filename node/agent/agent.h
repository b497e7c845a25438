/* agent.h - the host agent: what `moot run` has on each host of a job.
 *
 * A launcher has started it there, and connected its standard input and output
 * (moot_launcher.h, node/launch/agent_stream.h).  By that stream it is told its part of
 * the job.  It starts the ranks of its host, hands on signals and input, and passes on
 * what they say, line by line, and what they leave behind: there need be no file system
 * that all hosts share.
 *
 * Deaths.  The agent waits for its ranks, so it alone knows for certain that one has
 * ended, and says so by the channel (channel.h); other hosts take that as a
 * certificate.  That an agent is not heard of says nothing of its ranks.
 *
 * Faults.  A fault plan may kill a whole host (node/faults/faults.h): a rank that its
 * plan strikes asks for that by ENDING_FALL.  The agent says what is left of the host's
 * sheets, and kills its ranks and itself: it never comes to wait for one of them, so
 * nobody vouches for their deaths.
 *
 * Its end.  The agent goes away with its job: where the stream ends, or nothing has
 * come by it for AGENT_PATIENCE_MS, its ranks are killed.  And where the agent is
 * killed, each `moot rank` kills its group.
 */
#ifndef NODE_AGENT_AGENT_H
#define NODE_AGENT_AGENT_H

enum { AGENT_PATIENCE_MS = 15 * 60 * 1000, AGENT_ORDERS_MS = 60 * 1000 };

/* `moot agent`: serves the stream on standard input and output until the job is over
 * there.  An exit status: 0, or 1 if the job ended in another way. */
int agent_run(void);

#endif
