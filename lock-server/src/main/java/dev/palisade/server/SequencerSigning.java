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
import dev.palisade.server.access.AccessControl;
import dev.palisade.server.access.AccessFile;
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
    private static final Grouped NONE = new Grouped(GuardGroups.none(), Map.of(), Map.of());

    private final KeysetFile ungrouped;
    private final SequencerVerifier ungroupedVerifier;
    private final @Nullable AccessFile<Grouped> file;

    /**
     * What the file of groups says.
     *
     * @param keysets of each group, by its name; opened to sign
     */
    private record Grouped(
            GuardGroups groups, Map<String, KeysetFile> keysets, Map<String, SequencerVerifier> verifiers) {
        KeysetFile keyset(String group) {
            return Objects.requireNonNull(keysets.get(group));
        }
    }

    private SequencerSigning(KeysetFile ungrouped, String issuer, @Nullable AccessFile<Grouped> file) {
        this.ungrouped = ungrouped;
        this.ungroupedVerifier = ungrouped.verifier(issuer);
        this.file = file;
    }

    /**
     * Reads the file of groups, and opens their keysets. Both are done again by {@link #reload}.
     *
     * @param file null: no lock has a group
     * @throws CannotStart after a line on standard error for each mistake but the last
     */
    static SequencerSigning open(KeysetFile ungrouped, String issuer, @Nullable Path file) throws CannotStart {
        try {
            return new SequencerSigning(
                    ungrouped,
                    issuer,
                    file == null
                            ? null
                            : new AccessFile<>(file, false, (path, text) -> parse(ungrouped, issuer, path, text)));
        } catch (FileMistakes e) {
            throw ServerAccess.told(e);
        }
    }

    private static Grouped parse(KeysetFile ungrouped, String issuer, Path file, String text) throws FileMistakes {
        GuardGroups groups = GuardGroups.parse(file, text);
        Map<String, KeysetFile> keysets = keysets(ungrouped, groups, file);
        Map<String, SequencerVerifier> verifiers = new HashMap<>();
        keysets.forEach((group, keyset) -> verifiers.put(group, keyset.verifier(issuer, group)));
        return new Grouped(groups, keysets, verifiers);
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

    private Grouped grouped() {
        return file == null ? NONE : file.value();
    }

    /** Reads the file of groups again; for one thread. */
    Optional<AccessControl.Reload> reload() {
        return Optional.ofNullable(file).map(AccessControl.Reload::of);
    }

    /** Whether the groups that are in the file are in use; true without a file. */
    boolean areGroupsUsable() {
        return file == null || file.isUsable();
    }

    /** All keysets, of groups and of locks without one. */
    List<KeysetFile> keysets() {
        List<KeysetFile> all = new ArrayList<>(grouped().keysets().values());
        all.add(ungrouped);
        return all;
    }

    /** Signs for the guards of the lock's group. */
    SignedSequencer sign(Sequencer sequencer) {
        Grouped now = grouped();
        Optional<Group> group = now.groups().of(sequencer.lock());
        if (group.isEmpty()) {
            return ungrouped.sign(sequencer);
        }
        String name = group.get().name();
        return now.keyset(name).sign(sequencer.forAudience(name));
    }

    /** @throws RejectedException SEQUENCER_INVALID for what {@link #sign} does not sign */
    Sequencer verify(SignedSequencer signed) {
        Grouped now = grouped();
        Optional<String> claimed = Sequencer.claimedAudience(signed.toBytes());
        SequencerVerifier verifier =
                claimed.isEmpty() ? ungroupedVerifier : now.verifiers().get(claimed.get());
        if (verifier == null) {
            throw invalid("this lock server has no guard group '" + claimed.orElse("") + "'");
        }
        Sequencer sequencer = verifier.verify(signed);
        requireGroup(now.groups().of(sequencer.lock()), sequencer.lock(), sequencer.audience());
        return sequencer;
    }

    private static void requireGroup(Optional<Group> group, LockName lock, Optional<String> audience) {
        boolean isPrevious =
                audience.isEmpty() && group.isPresent() && group.get().acceptsPrevious();
        if (!isPrevious && !audience.equals(group.map(Group::name))) {
            throw invalid("lock '" + lock + "' belongs to "
                    + group.map(known -> "guard group '" + known.name() + "'").orElse("no guard group")
                    + ", and the sequencer is "
                    + audience.map(name -> "for audience '" + name + "'").orElse("without audience"));
        }
    }

    private static RejectedException invalid(String why) {
        return new Rejection(Reason.SEQUENCER_INVALID, "sequencer refused: " + why).asException();
    }

    /** Of the groups, for people; empty when there are none. */
    Optional<String> shown() {
        Grouped now = grouped();
        return now.groups().all().isEmpty()
                ? Optional.empty()
                : Optional.of("guard groups "
                        + now.groups().all().stream()
                                .map(group -> group.name() + " ("
                                        + now.keyset(group.name())
                                                .keys()
                                                .algorithm()
                                                .name()
                                                .toLowerCase(Locale.ROOT)
                                        + (group.acceptsPrevious() ? ", accepts previous" : "") + ")")
                                .collect(Collectors.joining(", ")));
    }
}
