package dev.palisade.server.core;

import dev.palisade.contract.LockName;

/** Something to do to one lock. Each kind is a record in a file of its own and knows its rule. */
public sealed interface Command
        permits Acquire,
                Accept,
                Renew,
                Release,
                Leave,
                Expire,
                Abandon,
                Resume,
                Reclaim,
                Describe,
                RequestRelease,
                ForceRelease,
                CheckSequencer,
                Barrier {
    LockName lock();

    /** The rule. {@code step} stands where time has already had its effect. */
    Answer decide(Step step);
}
