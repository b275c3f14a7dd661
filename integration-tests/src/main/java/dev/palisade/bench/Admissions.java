package dev.palisade.bench;

import dev.palisade.bench.Rounds.Contestant;
import dev.palisade.bench.Rounds.Measured;
import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.Sequencer;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.contract.crypto.SequencerKeys;
import dev.palisade.guard.Access;
import dev.palisade.guard.Binding;
import dev.palisade.guard.Guard;
import dev.palisade.guard.MarkStore;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/** Calls of the grant that is in, entered and closed on one thread: what a guard costs when nobody is in the way. */
final class Admissions implements AutoCloseable {
    private static final int RESOURCES = 1_000;

    /** Of each grant: many times as many as a guard remembers to have verified, so that none is remembered. */
    private static final int SEQUENCERS = 32;

    private final SequencerKeys keys = SequencerKeys.generate();
    private final SignedSequencer[] signed = new SignedSequencer[RESOURCES];
    private final SignedSequencer[] fresh = new SignedSequencer[RESOURCES * SEQUENCERS];
    private final Binding[] bindings = new Binding[RESOURCES];
    private final Guard verifying;
    private final Guard trusting;

    Admissions(Path directory) {
        Map<SignedSequencer, Sequencer> known = new ConcurrentHashMap<>();
        for (int i = 0; i < RESOURCES; i++) {
            Sequencer sequencer = sequencer(i, 0);
            bindings[i] = Binding.of(sequencer.lock());
            signed[i] = keys.sign(sequencer);
            known.put(signed[i], sequencer);
        }
        for (int i = 0; i < fresh.length; i++) {
            fresh[i] = keys.sign(sequencer(i % RESOURCES, i));
        }
        Path one = directory.resolve("verifying");
        Path other = directory.resolve("trusting");
        MarkStore.createNeverUsed(one);
        MarkStore.createNeverUsed(other);
        verifying = Guard.builder(keys.verifier("bench"), MarkStore.file(one)).build();
        trusting = Guard.builder(sent -> Objects.requireNonNull(known.get(sent)), MarkStore.file(other))
                .build();
    }

    private static Sequencer sequencer(int resource, long issuedAtMillis) {
        return new Sequencer(
                "bench",
                new LockName("orders/" + resource),
                Mode.EXCLUSIVE,
                new FencingToken(1_000_000 + resource),
                new GrantId(7, resource + 1),
                issuedAtMillis);
    }

    Map<String, Contestant> contestants() {
        Map<String, Contestant> contestants = new LinkedHashMap<>();
        contestants.put("guard", time -> enter(verifying, signed, time));
        contestants.put("guard, sequencer new to it", time -> enter(verifying, fresh, time));
        contestants.put("guard, signature not looked at", time -> enter(trusting, signed, time));
        contestants.put("signature alone", this::verify);
        contestants.put("a counter compared and set", this::compare);
        return contestants;
    }

    private Measured enter(Guard guard, SignedSequencer[] sequencers, Duration time) throws InterruptedException {
        return SingleThreadLoop.run(time, i -> {
            int at = i % RESOURCES;
            guard.enter(sequencers[i % sequencers.length], Access.WRITE, bindings[at])
                    .close();
            return at;
        });
    }

    private Measured verify(Duration time) throws InterruptedException {
        var verifier = keys.verifier("bench");
        return SingleThreadLoop.run(
                time, i -> verifier.verify(fresh[i % fresh.length]).issuedAtMillis());
    }

    /** What many a sample does in place of a guard. It is no fence: the write comes after. */
    private Measured compare(Duration time) throws InterruptedException {
        Map<String, AtomicLong> marks = new ConcurrentHashMap<>();
        return SingleThreadLoop.run(time, i -> {
            int at = i % RESOURCES;
            long token = 1_000_000L + at;
            return marks.computeIfAbsent(bindings[at].resource(), any -> new AtomicLong())
                    .accumulateAndGet(token, Math::max);
        });
    }

    @Override
    public void close() {
        verifying.close();
        trusting.close();
    }
}
