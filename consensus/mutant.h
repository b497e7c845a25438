/* mutant.h - rules that can be switched off, to see that something notices.
 *
 * A checker is worth what it has been seen to catch.  Built with -DMOOT_MUTANTS, the
 * core asks MUTANT(NAME) at the rules below, and the tests break one rule at a time; in
 * any other build MUTANT() is the constant false and the mutants do not exist.  `make
 * mutants` shows what kills each.
 */
#ifndef CONSENSUS_MUTANT_H
#define CONSENSUS_MUTANT_H

/* X(NAME, "what is left out") */
#define MUTANTS(X)                                                                     \
    X(SIGNATUREDEAF, "nobody finds that two signatures differ")                        \
    X(SIGNATUREFIRST, "of two ranks that differ the one that is heard later is named") \
    X(SIGNATUREMUTE, "a rank that closes does not tell its last signatures")           \
    X(ROLLUNCHECKED, "what a rank says that it has announced is not compared")         \
    X(VARIESAGAIN, "what varies is run again although its result may have been read")  \
    X(SUSPECTMUTE, "nobody reports of which tasks a rank may have died")               \
    X(SUSPECTUNTOLD, "an owner does not hear that its task is a suspect")              \
    X(SUSPECTFREE, "a suspect runs beside other kernels")                              \
    X(STRICTALONE, "who finds a difference declares it, not the lowest rank")          \
    X(STRICTSHORT, "a roll that ends later counts as ending where ranks differ")       \
    X(STRICTHASTY, "waits end before what differs has been looked for")                \
    X(STRICTIDLE, "a rank that has long rested does not look for what differs")        \
    X(STRICTUNTOLD, "in strict mode a roll is not announced again in a new view")      \
    X(STRICTPOLLS, "a rank in a timed wait counts as one that spawns no more")         \
    X(AMNESIA, "a chair that registers a task late claims it although it yielded it")  \
    X(BLOCKEDONLY, "a blocked chair yields without looking at the demand bound")       \
    X(NOBOUND, "the demand bound is not passed on to the inputs of owned tasks")       \
    X(NOLACK, "a waiter that lacks the task counts as if its roll had no end")         \
    X(NORETEST, "a chair that becomes blocked does not look at its undecided keys")    \
    X(LATEMUTE, "who registers what it waits for does not tell the chair")             \
    X(NOSEEK, "a chair that knows no holder seeks none")                               \
    X(SEEKALL, "a chair that a holder has told the candidates seeks among all")        \
    X(SEEKFEW, "a chair that has heard of no holder seeks among the candidates")       \
    X(NOREFER, "a finder keeps the candidates to itself")                              \
    X(NOSWEEP, "nobody tells a closed chair of tasks that no one waits for")           \
    X(FORGETASKERS, "a decision does not name the askers")                             \
    X(DECIDEONCE, "a decision is not sent again for a later asker")                    \
    X(NOBALLOT, "once tasks are decided without their voters")                         \
    X(SMALLQ, "a quorum is one voter too small")                                       \
    X(NOTFOUND, "what nobody holds fails before what is held is yielded")              \
    X(ONEROUND, "one quiet round of polls is enough")                                  \
    X(NOCOUNT, "quiet rounds do not compare messages sent and received")               \
    X(OWNUNCOUNTED, "quiet rounds do not count the host's own messages")               \
    X(RESTISPEACE, "a rank with a lane that may wake counts as passive")               \
    X(QUORUMREST, "a rank without a quorum counts as resting")                         \
    X(QUORUMMAYBE, "a chair without a quorum says that a once task may have run")      \
    X(NOCHASE, "circles of owned tasks are not looked for")                            \
    X(CENSUSMUTE, "nobody is told of what the census shows that its chair lacks")      \
    X(CENSUSALIKE, "a roll that differs is counted as one's own")                      \
    X(CENSUSEARLY, "a rank tells its census before it has heard its children")         \
    X(PUSHAGAIN, "a result is pushed for every consumer, not once per rank")           \
    X(ASKANYWAY, "needs are asked for without the ask delay")                          \
    X(NOPULL, "a bare result's bytes are not asked for")                               \
    X(FORGETHELD, "a scope ends although a program still uses its tasks")              \
    X(FORGETBUSY, "a scope ends although tasks of it run or are waited for")           \
    X(FORGETFLYING, "a scope ends without asking whether messages are on their way")   \
    X(FORGETFED, "a scope ends although tasks outside take results from it")           \
    X(NOSCOPESWEEP, "chairs are not told of a scope's tasks that nobody waits for")    \
    X(LATEFRESH, "a late message about a scope that has ended begins it anew")         \
    X(DROPEARLY, "a chunk is dropped although some have not released it")              \
    X(DROPFED, "a chunk is dropped although what takes its results has not run")       \
    X(DROPFLYING, "a chunk is dropped while messages about it are on their way")       \
    X(LETGOUNDONE, "what is let go counts as released though nobody sees to its end")  \
    X(RELEASEREAD, "a result's bytes go although tasks here still read them")          \
    X(RELEASEWAITED, "a result's bytes go although a wait here takes them")            \
    X(ROUNDEARLY, "a round begins before the outcomes of the last are taken")          \
    X(PRESSMUTE, "where memory is short nothing is dropped for that")                  \
    X(CUTUNTOLD,                                                                       \
      "a piece of a chunk is dropped before all have said that they cut it")           \
    X(NEWCOMERUNTOLD, "a newcomer does not hear of the rolls before its time")         \
    X(BEHIND, "a newcomer yields nothing until it has what the others had")            \
    X(BEFOREWAITS, "a newcomer waits for a push of what was made before its time")     \
    X(TAKENWAITS, "what a rank took in for another to run waits for a push")           \
    X(TOLDGONE, "newcomers that have gone are told of each view of many members")      \
    X(PUSHMOVED, "what takes a result is taken to have moved with its chair")          \
    X(ROLLUNTOLD, "in a new view a roll is not announced again")                       \
    X(STUBFED, "what takes a stub's inputs is not noted with these")                   \
    X(STUBAWAY, "who comes to run a task does not look for inputs that were stubs")    \
    X(CUTLEAVING, "what is about to be dropped is cut")                                \
    X(PARTCLAIMS, "who spawns an array claims what it has given up of it")             \
    X(ELEMENTSLOST, "nobody runs the elements of who is no member any more")           \
    X(YOURSDEAF, "who is given elements of an array that it does not hold is silent")  \
    X(PARTWHOLE, "who spawns a part of an array runs all of it")                       \
    X(NESTEDHOME, "a home waits for its program to spawn what a task has spawned")     \
    X(ENDUNSAID, "that an array had ended is forgotten with the bytes of its end")     \
    X(STRETCHSPLIT, "what a home leaves of a once array is dealt to all")              \
    X(HOMESTRANGE, "what candidates leave of an array goes to who is none")            \
    X(PARTFINAL, "what parts lack of an array ends when its homes give it up")         \
    X(ARRAYALONE, "an array that is cancelled ends before its elements have")          \
    X(ARRAYCANCELAGAIN,                                                                \
      "an array's chair tells of a cancel with each word that comes")                  \
    X(CANCELLATE, "who spawns an array late begins what was cancelled")                \
    X(ADOPTPART, "the spec of an array comes from who has spawned a part of it")       \
    X(ADOPTCANCELLED, "an array that is cancelled is adopted")                         \
    X(ARRAYEARLY, "an array's end is told when some of a rank's elements have ended")  \
    X(SCOPEDOUBT, "a new view is not told which scopes have ended")                    \
    X(DROPDOUBT,                                                                       \
      "a new view does not ask whether anyone has dropped what was leaving")           \
    X(CANCELONCE, "who knows of a cancel does not tell a new chair")                   \
    X(CANCELALONE, "a decision does not say that the task was cancelled")              \
    X(CANCELFINDER, "a finder keeps a cancel to itself")                               \
    X(UNSEEN, "what has ended well and is made again may be cancelled")                \
    X(SEENALONE, "a decision does not say that the task has ended well before")        \
    X(SEENILL, "what has failed and is made again is taken to have ended well")        \
    X(LOSTRERUN, "a lost result is made again although another run gives another")     \
    X(STALEDEC, "a decision of an older epoch is accepted")                            \
    X(RELEASELAST, "a result's bytes go although their owner has left")                \
    X(RELEASEHEIR, "an heir's bytes go that it keeps for one who leaves")              \
    X(STALERES, "a result of an older epoch is accepted from whoever serves it")       \
    X(PARTIAL, "a chair decides frozen keys with one report missing")                  \
    X(NOHIST, "keys are compared with the view before alone")                          \
    X(NOFREEZEDEAD, "keys whose owner has left are not frozen")                        \
    X(RELOADKEPT, "who reloads forgets nothing")                                       \
    X(RELOADUNMARKED, "a reload begins before its mark is durable")                    \
    X(RELOADSAME, "each reload begins the first generation")                           \
    X(RELOADLOSSES, "losses of before a reload count in it")                           \
    X(RELOADONCE, "who has closed forgets which once tasks it owned before a reload")  \
    X(RELOADEARLY, "once tasks start in a reload before all have reported")            \
    X(RELOADUNLEARNT, "a newcomer proposes views of before the last reload")           \
    X(RELOADRESULT, "a result of before a reload is taken in it")                      \
    X(CUTCOLOUR, "messages do not say which cut their sender has made")                \
    X(CUTKEPT, "messages of a new view say that their sender has made the last one's") \
    X(CUTLATE, "a rank takes a message in before it makes the cut that it tells of")   \
    X(CUTPREPARED, "a part counts as durable as soon as it is noted")                  \
    X(COMMITPART, "a snapshot is committed without the last member's part")            \
    X(COMMITFAILED, "a snapshot is committed although a member has no part")           \
    X(SNAPVIEW, "who enters a view does not ask again for what it waits for")          \
    X(SNAPSTALE, "a part of an earlier cut counts for the present one")                \
    X(SNAPTOLD, "a snapshot is told to exist before its commit is durable")            \
    X(PASSWAIT, "a meeting waits for a newcomer that does not come to it")             \
    X(JOINNEXT, "a newcomer is given the next number, not the one it asks for")        \
    X(BOUNDARYANY, "a newcomer is let in although members are not at a boundary")      \
    X(BOUNDARYMOST, "a majority lets a newcomer in, and others go on by certificates") \
    X(BOUNDARYKEPT,                                                                    \
      "a value with a newcomer is kept to although it cannot be decided")              \
    X(BOUNDARYOVER, "a boundary is over although somebody waits to be let in")         \
    X(BOUNDARYCLOSED, "a boundary waits for newcomers whom nobody lets in any more")   \
    X(BOUNDARYUNTOLD, "the lowest is not told of who waits to be let in")              \
    X(HELDUPQUIET, "a meeting that waits for a newcomer counts as one that is stuck")  \
    X(BEGINSFIRST, "a newcomer's roll begins at the first place, at any boundary")     \
    X(BEGINSHOLD, "a newcomer counts as a holder of what stands before its roll")      \
    X(BEGINSMUTE, "nobody says that a chair's roll begins behind a task")              \
    X(GONEUNTOLD, "a newcomer is not told which once tasks were dropped")              \
    X(DOUBTNEW, "a newcomer answers for rounds before its time")                       \
    X(JOINNOWAIT, "a chair decides keys that it has taken over at once")               \
    X(NOOWNREP, "running work is not reported")                                        \
    X(NOCONCL, "silence about a once task is always believed")                         \
    X(NOREACC, "records of once tasks are not accepted again in a new view")           \
    X(FREEDEAD, "a once task whose owner has left counts as never started")            \
    X(NOPEND, "a vote to remove a rank does not wait for its lease to run out")        \
    X(GRANTAFTERVOTE, "who has voted for the next view goes on granting leases")       \
    X(NOOWNWAIT, "who has voted for the next view still counts itself for its lease")  \
    X(MAJLIVE, "a majority of those not certified dead is a quorum")                   \
    X(HALF, "half of the members are a quorum")                                        \
    X(NOPH1, "a proposer skips the first phase")                                       \
    X(CERTDROP, "certificates of death do not count towards a quorum")                 \
    X(CERTJOIN, "certificates count towards a quorum although newcomers are let in")   \
    X(NOMERGE, "certificates in messages are not taken over")                          \
    X(FWDNOTDEC, "a decision is not sent again in a new view")                         \
    X(STALEACC, "an ACCEPT, or its ACK, of an older epoch counts")                     \
    X(ADOPTSTALE, "a spec that an older epoch's motion brings is adopted")             \
    X(DROPREACC, "a record is dropped because its re-acceptance was unfinished")       \
    X(SHORTPAST, "a view's past starts anew although not all have settled")            \
    X(MASKED, "an old acceptance says something about later ballots")                  \
    X(NOLOSSES, "silence about a once task that nobody knew is always believed")       \
    X(REPORTFREEZE, "a report freezes a key that has stayed")                          \
    X(JUDGELATE, "what a chair first meets before a view has settled is as if new")    \
    X(NOHIDDEN, "who left cannot have decided a view of their own")                    \
    X(HEARSAY, "heartbeats pass on suspicion that is hearsay")                         \
    X(NODRIVE, "a value that was accepted needs suspicion as any other")               \
    X(NOHOLD, "what comes from a later epoch is dropped")                              \
    X(NOREASK, "needs are not asked for again in a new view")                          \
    X(COUNTOLD, "what was sent in another epoch counts for quiet rounds")              \
    X(LEASELESS, "once tasks start without a lease")                                   \
    X(ENDEARLY, "a word says that tasks have ended of which some have not")            \
    X(ENDEDOTHERS, "a word counts for other tasks than it is about")                   \
    X(ENDEDELSEWHERE, "a word is said of tasks that others run")                       \
    X(ENDEDFAILED, "a word is said of a task that failed, and nothing else is")        \
    X(WORDSIZED, "of what a word told parts of another size are dropped")              \
    X(WORDSASKED, "what was asked for is taken from a word, too")                      \
    X(WORDSDEAF, "of words only a wait for many takes the ends")                       \
    X(WORDSAGAIN, "what a word has told is pushed, too")                               \
    X(WORDSWIDE, "a word waits for tasks that nobody waits for")                       \
    X(WORDSENDED, "a wait that ends before its word tells nobody")                     \
    X(WORDSHOLE,                                                                       \
      "who can say no word of a stretch with a hole pushes nothing instead")           \
    X(WORDSBEHIND, "no word is said of a stretch whose first tasks are forgotten")     \
    X(WORDSLATE, "a word of the next wait that comes in this one is lost to the next") \
    X(WORDSALONE, "who lacks a word waits for it for ever")                            \
    X(LEAVEPENDING, "the sweep leaves out what is about to be asked for")              \
    X(NOHANDOVER, "who leaves keeps its results to itself")                            \
    X(NOACCEPTOVER, "who leaves keeps to itself what it has accepted as a voter")      \
    X(LEAVECLAIM, "who leaves owns tasks as ever")                                     \
    X(MEETEARLY, "a meeting is over when the first has come")                          \
    X(MEETCLOSED, "who has closed is waited for at meetings")                          \
    X(MEETFORGOT, "a new view's lowest is not told of the last meeting")               \
    X(MEETUNTOLD, "a new view's lowest is not told who has arrived")                   \
    X(MEETOPEN, "a new view's lowest is not told who has closed")                      \
    X(MEETSTALE, "who has arrived in the view before counts as here")                  \
    X(MEETKEPT, "an outcome that others bring is not passed on")                       \
    X(MEETLATE, "who comes to a meeting that is over is not told so")                  \
    X(MEETMIXED, "nobody looks at what the others came for")                           \
    X(MEETLAST, "who comes last to a meeting is not among those who came")             \
    X(WORDSLOST, "the words of others who come to a meeting are not passed on")        \
    X(WORDSTWICE, "words that several say are told as often")                          \
    X(WORDSKEPT, "words of an arrival in an older view count again")                   \
    X(WORDSONCE, "an outcome that is told again has no words")                         \
    X(MEETSTAR, "among many the lowest is told of meetings by all")                    \
    X(MEETBELOW, "who has come says so before those below have come")                  \
    X(MEETDOWN, "the outcome of a meeting is not passed down the tree")                \
    X(MEETUPONLY, "who enters a large view tells the last outcome to its parent only") \
    X(MEETEVERYONE, "those who came to a meeting of many are said to be all")          \
    X(LEAVEUNASKED, "who leaves keeps what it chairs and nobody asks for")             \
    X(COMMITTEELOST, "without heartbeats nobody sees that the committee has died")     \
    X(RETURNGONE, "a chair takes back what it knows nobody else to hold")              \
    X(LEAVEBEHIND, "who leaves does not see out what it alone holds")                  \
    X(LEAVELOSES, "who leaves in good order counts as lost")                           \
    X(LEAVEKEEPS, "who leaves in good order is not lost with who crashes then")        \
    X(HEIRASNEW,                                                                       \
      "an heir that comes to know that it is the chair forgets what it has heard")     \
    X(LEAVEALONE, "who is ready goes on alone when all others have died")              \
    X(VERDICTALONE, "a chair that ends a task tells its askers and records nothing")   \
    X(VERDICTMUTE, "how a task ends is not reported in a new view")                    \
    X(VERDICTRUNS, "who registers a task that ends for good claims it as any other")   \
    X(VERDICTUNASKED, "a finder ends what nobody holds without asking the members")    \
    X(GONELATE, "what only who has left may hold fails when its turn comes")           \
    X(WAITAPART, "what one wait needs fails one by one")                               \
    X(WAITFIRST, "what one asker's wait needs fails together, whoever else asks")      \
    X(WAITUNTOLD, "who asked for a task does not say that another wait needs it, too") \
    X(NOKEEPER, "what has no candidate left is not served, whoever has it")            \
    X(LEAVETOGETHER, "those who are ready go on when all others have died")            \
    X(LEAVEUNCOUNTED, "what a leaver and a chair say does not count for a scope")      \
    X(RETURNDROP, "a chair does not hear of tasks that are returned")                  \
    X(RETURNEARLY, "who leaves returns tasks in a view that has not settled")          \
    X(RETURNLACKS, "who returns a task is not known to hold it")                       \
    X(RETURNLOST, "what one who left was given counts as returned though others died") \
    X(HASTYREPORT, "in a large view a member counts before its reports have arrived")  \
    X(ONCEONLY, "a once task that may be run again counts as one that may not")        \
    X(LOSSESUNTOLD, "a newcomer does not know of the losses before its time")          \
    X(LOSSESDOUBTED, "a newcomer takes all silence about a once task for a loss")      \
    X(LOTPASSED, "who lacks a task lets it go though its program may come to it")      \
    X(LOTFED, "a task goes in a lot although what takes its result has not run")       \
    X(LOTHELD, "a task goes in a lot although a program still uses it")                \
    X(LOTFLYING, "a lot is dropped while messages about it are on their way")          \
    X(LOTEARLY, "a lot is dropped although some would not let go of it")               \
    X(GIVENUPASKS, "a wait that was given up counts as one that lasts")                \
    X(WATCHALL, "all results that lanes waited for stay, in case another comes")       \
    X(LOTADOPTED, "a rank that runs a task for others counts as past it")              \
    X(LOTONCE, "of a once task that goes in a lot nothing is kept")                    \
    X(LOTUNTOLD, "a chair that has passed a task yields it to nobody unasked")         \
    X(CRASHONCE, "one death in its kernel ends a task")                                \
    X(CRASHUNCOUNTED, "ranks that died of a task are not counted")                     \
    X(CRASHMUTE, "nobody reports who died of a task")                                  \
    X(CRASHTWICE, "who hears twice of a death counts it twice")                        \
    X(CRASHMOVED, "deaths are reported of keys that have moved, and no others")        \
    X(CRASHLATE, "who learns of a death when the view has gone on tells nobody")       \
    X(CRASHGIVEN, "a chair decides on owners whatever deaths it has heard of since")   \
    X(CRASHDEALT, "the elements of the dead are dealt, however many died of them")     \
    X(CRASHRUNNING, "what somebody runs ends when enough have died of it")             \
    X(CRASHSURE, "a once task of which enough have died is CRASHED as any other")      \
    X(CRASHAGAIN, "one that is idempotent is run again, whoever has died of it")       \
    X(CRASHKEPT, "who leaves keeps to itself who has died of a task")                  \
    X(PROMISEFIRST, "of accepted views that promises name the first is proposed")      \
    X(NORAISE, "an acceptor takes a proposal and promises nothing by that")            \
    X(KEEPPENDING, "a vote that waits is cast though a higher ballot was promised")    \
    X(REACCFEW, "a record is accepted again by one voter less than a quorum")          \
    X(CERTALWAYS, "a death certifies although the dead may have voted us out first")   \
    X(ACCEPTFIRST, "of reported acceptances the first counts, not the latest")         \
    X(VIEWNUMBER, "of a message's view the number is compared, and not its members")   \
    X(GRANTPENDING, "who is to be removed by a vote that waits is granted leases")     \
    X(QUORUMCLAIM, "a rank without a quorum goes on claiming and yielding")            \
    X(CANDIDATESMUTE,                                                                  \
      "who hears of a once task's owner is not told its candidates before")            \
    X(KEEPERLOST, "a keeper that is lost hides no start of a once task")               \
    X(FINDERJUDGES, "a finder judges a once task that nobody reports as if its chair") \
    X(NEVERCHOSEN, "who has said that it never will hold a task may win it")           \
    X(SHORTADOPTS, "who is short of memory adopts tasks all the same")                 \
    X(TREEALL, "an owner refers nobody, and sends the bytes to all")                   \
    X(TREECROWD, "all are referred to the first that has the bytes")                   \
    X(TREEMUTE, "who has let the bytes go does not say that they are away")            \
    X(TREEGIVENUP,                                                                     \
      "who gives its wait up says nothing to those that it keeps waiting")             \
    X(TREEDEAF, "who waits for the bytes itself forgets who asked it for them")        \
    X(TREEAGAIN, "who comes back from whom it was referred to is referred again")      \
    X(PARTKEPT, "who gets a result in parts passes on the last alone")                 \
    X(TREESTALE, "a referral of an older epoch is followed")                           \
    X(TREEKEPT, "an owner refers to those that it has answered in another view")       \
    X(LIGHTSEATS, "the last seats of a committee go by weight, not to large hosts")

/* Of links, whose own test (tests/unit/link_test.c) kills them. */
#define LINK_MUTANTS(X)                                                                \
    X(LINKSENDONCE, "a frame that was lost is not sent again")                         \
    X(LINKTWICE, "a frame that comes twice is taken twice")                            \
    X(LINKACKNEXT, "the frame after the last that is here is acknowledged, too")

/* Rules of routes, likewise (tests/unit/ways_test.c). */
#define ROUTE_MUTANTS(X)                                                               \
    X(ROUTECUT, "a way begins with a link to a host that is silent")                   \
    X(ROUTETHROUGH, "a way goes through a host that is gone")                          \
    X(ROUTESTAR, "a star keeps its middle, whoever is gone")

enum mutant {
    MUTANT_NONE,
#define X(name, text) MUTANT_##name,
    MUTANTS(X)
#undef X
        MUTANT_END,
#define X(name, text) MUTANT_##name,
    LINK_MUTANTS(X)
#undef X
        MUTANT_LINK_END,
#define X(name, text) MUTANT_##name,
    ROUTE_MUTANTS(X)
#undef X
        MUTANT_ROUTE_END
};

#ifdef MOOT_MUTANTS
extern enum mutant mutant_on; /* defined by the test program */
#define MUTANT(name) (mutant_on == MUTANT_##name)
#else
#define MUTANT(name) 0
#endif

#endif
