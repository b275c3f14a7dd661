package dev.palisade.server;

import dev.palisade.contract.LockName;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.Sequencer;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.contract.cli.Commands.CannotStart;
import dev.palisade.contract.crypto.KeysetFile;
import dev.palisade.contract.crypto.SequencerKeys;
import dev.palisade.contract.crypto.SequencerKeys.Algorithm;
import dev.palisade.contract.crypto.SequencerVerifier;
import dev.palisade.server.access.FileMistakes;
import dev.palisade.server.access.GuardGroups;
import dev.palisade.server.access.GuardGroups.Group;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Signatures of one lock server's sequencers: each lock is signed for by the keyset of its guard group, or by the one of locks
 * without a group. What a group's key signed for a lock of another group is not accepted. Safe to share between threads.
 */
final class SequencerSigning {
    private final KeysetFile ungrouped;
    private final SequencerVerifier ungroupedVerifier;
    private final GuardGroups groups;
    private final Map<String, KeysetFile> keysets = new HashMap<>();
    private final Map<String, SequencerVerifier> verifiers = new HashMap<>();

    /** @param keysets of each group, by its name; opened to sign */
    SequencerSigning(KeysetFile ungrouped, String issuer, GuardGroups groups, Map<String, KeysetFile> keysets) {
        this.ungrouped = ungrouped;
        this.ungroupedVerifier = ungrouped.verifier(issuer);
        this.groups = groups;
        this.keysets.putAll(keysets);
        keysets.forEach((group, keyset) -> verifiers.put(group, keyset.verifier(issuer, group)));
    }

    /**
     * Reads the file of groups, and opens their keysets.
     *
     * @param file null: no lock has a group
     * @throws CannotStart after a line on standard error for each mistake but the last
     */
    static SequencerSigning open(KeysetFile ungrouped, String issuer, @Nullable Path file) throws CannotStart {
        if (file == null) {
            return new SequencerSigning(ungrouped, issuer, GuardGroups.none(), Map.of());
        }
        try {
            GuardGroups groups = GuardGroups.read(file);
            return new SequencerSigning(ungrouped, issuer, groups, keysets(ungrouped, groups, file));
        } catch (FileMistakes e) {
            throw ServerAccess.told(e);
        }
    }

    private static Map<String, KeysetFile> keysets(KeysetFile ungrouped, GuardGroups groups, Path file)
            throws FileMistakes {
        Map<String, KeysetFile> keysets = new HashMap<>();
        List<String> mistakes = new ArrayList<>();
        for (Group group : groups.all()) {
            String where = file + ":" + group.line() + ": ";
            if (Files.notExists(group.keyset())) {
                mistakes.add(where + "signing keyset " + group.keyset() + " does not exist; make it: palisade keys add"
                        + " --keyset " + group.keyset());
                continue;
            }
            try {
                KeysetFile keyset = KeysetFile.openToSign(group.keyset());
                refuseShared(keyset.keys(), ungrouped.keys(), "locks without a group");
                for (Map.Entry<String, KeysetFile> other : keysets.entrySet()) {
                    refuseShared(keyset.keys(), other.getValue().keys(), "group " + other.getKey());
                }
                keysets.put(group.name(), keyset);
            } catch (IOException e) {
                mistakes.add(where + e.getMessage());
            }
        }
        if (!mistakes.isEmpty()) {
            throw new FileMistakes(file, mistakes);
        }
        return keysets;
    }

    /** A guard has the whole HMAC keyset of its group. Of Ed25519 it has what does not sign, so groups may share one. */
    private static void refuseShared(SequencerKeys keys, SequencerKeys others, String whose) throws IOException {
        if (keys.algorithm() == Algorithm.HMAC && keys.sharesSecretWith(others)) {
            throw new IOException("the keyset has a key of that of " + whose + ", so guards of both could sign for"
                    + " each other; make one with palisade keys add --keyset FILE");
        }
    }

    /** All keysets, of groups and of locks without one. */
    List<KeysetFile> keysets() {
        List<KeysetFile> all = new ArrayList<>(keysets.values());
        all.add(ungrouped);
        return all;
    }

    /** Signs for the guards of the lock's group. */
    SignedSequencer sign(Sequencer sequencer) {
        Optional<Group> group = groups.of(sequencer.lock());
        if (group.isEmpty()) {
            return ungrouped.sign(sequencer);
        }
        String name = group.get().name();
        return keyset(name).sign(sequencer.forAudience(name));
    }

    /** @throws RejectedException SEQUENCER_INVALID for what {@link #sign} does not sign */
    Sequencer verify(SignedSequencer signed) {
        Optional<String> claimed = Sequencer.claimedAudience(signed.toBytes());
        SequencerVerifier verifier = claimed.isEmpty() ? ungroupedVerifier : verifiers.get(claimed.get());
        if (verifier == null) {
            throw invalid("this lock server has no guard group '" + claimed.orElse("") + "'");
        }
        Sequencer sequencer = verifier.verify(signed);
        requireGroupOf(sequencer.lock(), sequencer.audience());
        return sequencer;
    }

    private void requireGroupOf(LockName lock, Optional<String> audience) {
        Optional<Group> group = groups.of(lock);
        boolean isPrevious =
                audience.isEmpty() && group.isPresent() && group.get().acceptsPrevious();
        if (!isPrevious && !audience.equals(group.map(Group::name))) {
            throw invalid("lock '" + lock + "' belongs to "
                    + group.map(known -> "guard group '" + known.name() + "'").orElse("no guard group")
                    + ", and the sequencer is "
                    + audience.map(name -> "for audience '" + name + "'").orElse("without audience"));
        }
    }

    private KeysetFile keyset(String group) {
        return Objects.requireNonNull(keysets.get(group));
    }

    private static RejectedException invalid(String why) {
        return new Rejection(Reason.SEQUENCER_INVALID, "sequencer refused: " + why).asException();
    }

    /** Of the groups, for people; empty when there are none. */
    Optional<String> shown() {
        return groups.all().isEmpty()
                ? Optional.empty()
                : Optional.of("guard groups "
                        + groups.all().stream()
                                .map(group -> group.name() + " ("
                                        + keyset(group.name())
                                                .keys()
                                                .algorithm()
                                                .name()
                                                .toLowerCase(Locale.ROOT)
                                        + (group.acceptsPrevious() ? ", accepts previous" : "") + ")")
                                .collect(Collectors.joining(", ")));
    }
}
