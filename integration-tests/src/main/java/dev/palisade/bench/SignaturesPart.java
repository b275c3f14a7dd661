package dev.palisade.bench;

import dev.palisade.bench.Rounds.Contestant;
import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.Sequencer;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.contract.crypto.SequencerKeys;
import dev.palisade.contract.crypto.SequencerKeys.Algorithm;
import dev.palisade.contract.crypto.SequencerVerifier;
import java.util.LinkedHashMap;
import java.util.Map;

/** What it costs to sign and verify sequencers, on one thread, for each algorithm and version. */
final class SignaturesPart {
    static final String TITLE = "sequencers signed or verified, one thread";
    static final String BASE = "sign: HMAC";

    /** Many times as many as keys remember, so that none is remembered. */
    private static final int SEQUENCERS = 16_000;

    private final Sequencer[] plain = new Sequencer[SEQUENCERS];
    private final Sequencer[] grouped = new Sequencer[SEQUENCERS];

    private SignaturesPart() {
        for (int i = 0; i < SEQUENCERS; i++) {
            plain[i] = new Sequencer(
                    "bench",
                    new LockName("orders/" + i),
                    Mode.EXCLUSIVE,
                    new FencingToken(1_000_000 + i),
                    new GrantId(7, i + 1),
                    0);
            grouped[i] = plain[i].forAudience("payments");
        }
    }

    static void run(LockParts.Sink sink) throws Exception {
        sink.compare(Part.SIGNATURES, TITLE, BASE, new SignaturesPart().contestants());
    }

    private Map<String, Contestant> contestants() {
        SequencerKeys hmac = SequencerKeys.generate(Algorithm.HMAC);
        SequencerKeys ed25519 = SequencerKeys.generate(Algorithm.ED25519);
        Map<String, Contestant> contestants = new LinkedHashMap<>();
        contestants.put(BASE, sign(hmac, plain));
        contestants.put("sign: HMAC with audience", sign(hmac, grouped));
        contestants.put("sign: Ed25519 with audience", sign(ed25519, grouped));
        contestants.put("sign: Ed25519, the same grant again", sign(ed25519, new Sequencer[] {grouped[0]}));
        contestants.put("verify: HMAC", verify(hmac, hmac.verifier("bench"), plain));
        contestants.put("verify: HMAC with audience", verify(hmac, hmac.verifier("bench", "payments"), grouped));
        SequencerVerifier guard = ed25519.publicKeys().verifier("bench", "payments");
        contestants.put("verify: Ed25519 with audience", verify(ed25519, guard, grouped));
        contestants.put("verify: Ed25519, the same bytes again", verify(ed25519, guard, new Sequencer[] {grouped[0]}));
        return contestants;
    }

    private static Contestant sign(SequencerKeys keys, Sequencer[] sequencers) {
        return time -> SingleThreadLoop.run(
                time, i -> keys.sign(sequencers[i % sequencers.length]).hashCode());
    }

    private static Contestant verify(SequencerKeys keys, SequencerVerifier verifier, Sequencer[] sequencers) {
        SignedSequencer[] signed = new SignedSequencer[sequencers.length];
        for (int i = 0; i < signed.length; i++) {
            signed[i] = keys.sign(sequencers[i]);
        }
        return time -> SingleThreadLoop.run(
                time, i -> verifier.verify(signed[i % signed.length]).issuedAtMillis());
    }
}
