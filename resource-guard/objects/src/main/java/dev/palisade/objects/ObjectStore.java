package dev.palisade.objects;

import dev.palisade.contract.LockName;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.Sequencer;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.contract.Texts;
import dev.palisade.contract.crypto.SequencerVerifier;
import dev.palisade.guard.Access;
import dev.palisade.guard.Binding;
import dev.palisade.guard.FencedJdbc;
import dev.palisade.guard.FencedJdbc.Work;
import dev.palisade.guard.Mark;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/**
 * Fenced store of objects: each call is one transaction of mark, data and applied-log, with one mark per lock. The
 * rpc services use it; it knows no rpc. With the guard off it writes the same rows and checks nothing.
 */
final class ObjectStore {
    /** The longest key, in bytes of UTF-8. */
    static final int KEY_BYTES_MAX = 512;

    /** Objects in a page of a listing. */
    static final int PAGE_MAX = 1_000;

    private static final int PAGE_DEFAULT = 100;

    private final DataSource dataSource;
    private final FencedJdbc fenced;
    private final SequencerVerifier verifier;
    private final LockTemplate template;
    private final ObjectLimits limits;
    private final boolean guardOn;

    ObjectStore(
            DataSource dataSource,
            FencedJdbc fenced,
            SequencerVerifier verifier,
            LockTemplate template,
            ObjectLimits limits,
            boolean guardOn) {
        this.dataSource = dataSource;
        this.fenced = fenced;
        this.verifier = verifier;
        this.template = template;
        this.limits = limits;
        this.guardOn = guardOn;
    }

    /** Who calls and how long they wait. {@code signed} is null when the call brought no sequencer. */
    record Caller(@Nullable SignedSequencer signed, Duration patience) {}

    /** The answer of a write: whether it was applied, and the object's version now (0: no such object). */
    record Written(boolean applied, long version) {}

    /** One page; {@code nextPageToken} is empty at the end. */
    record Page(List<StoredObject> objects, String nextPageToken) {}

    Written put(Caller caller, String key, byte[] content, OptionalLong ifVersion) throws SQLException {
        LockName lock = lockOf(key);
        if (content.length > limits.objectBytesMax()) {
            throw tooLarge(key, content.length);
        }
        refuseNegative(ifVersion);
        return guarded(caller, lock, Access.WRITE, (connection, sequencer) -> {
            ObjectTable.Version version = ObjectTable.lockVersion(connection, key);
            if (ifVersion.isPresent() && ifVersion.getAsLong() != version.shown()) {
                return mismatch(connection, lock, key, sequencer, version);
            }
            long next = version.latest() + 1;
            ObjectTable.write(connection, key, content, next, sequencer, false);
            AppliedLog.append(connection, lock.value(), AppliedLog.Operation.PUT, key, sequencer, next, content);
            return new Written(true, next);
        });
    }

    Written delete(Caller caller, String key, OptionalLong ifVersion) throws SQLException {
        LockName lock = lockOf(key);
        refuseNegative(ifVersion);
        return guarded(caller, lock, Access.WRITE, (connection, sequencer) -> {
            ObjectTable.Version version = ObjectTable.lockVersion(connection, key);
            if (!version.present() || (ifVersion.isPresent() && ifVersion.getAsLong() != version.latest())) {
                return mismatch(connection, lock, key, sequencer, version);
            }
            long next = version.latest() + 1;
            ObjectTable.write(connection, key, new byte[0], next, sequencer, true);
            AppliedLog.append(connection, lock.value(), AppliedLog.Operation.DELETE, key, sequencer, next, new byte[0]);
            return new Written(true, 0);
        });
    }

    private static Written mismatch(
            Connection connection,
            LockName lock,
            String key,
            @Nullable Sequencer sequencer,
            ObjectTable.Version version)
            throws SQLException {
        AppliedLog.append(
                connection, lock.value(), AppliedLog.Operation.MISMATCH, key, sequencer, version.shown(), new byte[0]);
        return new Written(false, version.shown());
    }

    /** Empty when there is no such object. */
    Optional<StoredObject> get(Caller caller, String key, boolean unfenced) throws SQLException {
        LockName lock = lockOf(key);
        if (unfenced) {
            return plainRead(connection -> ObjectTable.read(connection, key));
        }
        return guarded(caller, lock, Access.READ, (connection, sequencer) -> {
            Optional<StoredObject> object = ObjectTable.read(connection, key);
            long version = object.map(StoredObject::version).orElse(0L);
            AppliedLog.append(connection, lock.value(), AppliedLog.Operation.GET, key, sequencer, version, new byte[0]);
            return object;
        });
    }

    Page list(Caller caller, String prefix, int pageSize, String pageToken, boolean unfenced) throws SQLException {
        Texts.checked("prefix", prefix, 0, KEY_BYTES_MAX);
        if (pageSize < 0 || pageSize > PAGE_MAX) {
            throw RejectedException.malformed(
                    "page size is " + pageSize + "; use 1 to " + PAGE_MAX + ", or 0 for " + PAGE_DEFAULT);
        }
        int size = pageSize == 0 ? PAGE_DEFAULT : pageSize;
        String after = PageToken.key(pageToken, prefix);
        if (unfenced) {
            return plainRead(connection -> page(connection, prefix, after, size));
        }
        LockName lock = template.lockOfAll(prefix)
                .orElseThrow(() -> RejectedException.malformed("no single lock guards every key that begins with '"
                        + prefix + "' (lock template " + template
                        + "); list a prefix that one lock guards, or unfenced"));
        return guarded(caller, lock, Access.READ, (connection, sequencer) -> {
            Page page = page(connection, prefix, after, size);
            AppliedLog.append(connection, lock.value(), AppliedLog.Operation.LIST, prefix, sequencer, 0, new byte[0]);
            return page;
        });
    }

    private static Page page(Connection connection, String prefix, String after, int size) throws SQLException {
        List<StoredObject> found = ObjectTable.list(connection, prefix, after, size + 1);
        if (found.size() <= size) {
            return new Page(found, "");
        }
        List<StoredObject> page = List.copyOf(found.subList(0, size));
        return new Page(page, PageToken.after(page.get(size - 1).key()));
    }

    /** A lock and its mark. */
    record Marked(LockName lock, Mark mark) {}

    /** Open to SHARED grants too: it is the raise of a first read. */
    Marked claim(Caller caller, String key) throws SQLException {
        return claim(caller, lockOf(key), key);
    }

    /**
     * Claims by the name of the lock, for no object in particular.
     *
     * @throws RejectedException WRONG_RESOURCE too: no object can have that lock
     */
    Marked claimLock(Caller caller, String name) throws SQLException {
        String resource = Texts.checked("resource", name, 1, Binding.RESOURCE_BYTES_MAX);
        LockName lock = template.lockCalled(resource)
                .orElseThrow(() -> new Rejection(
                                Reason.WRONG_RESOURCE,
                                "no object here can be guarded by a lock '" + resource + "' (lock template " + template
                                        + "); claim the lock of an object",
                                Map.of(Rejection.RESOURCE, resource, Rejection.APPLIED, "no"))
                        .asException());
        return claim(caller, lock, "");
    }

    private Marked claim(Caller caller, LockName lock, String key) throws SQLException {
        return guarded(caller, lock, Access.READ, (connection, sequencer) -> {
            AppliedLog.append(connection, lock.value(), AppliedLog.Operation.CLAIM, key, sequencer, 0, new byte[0]);
            return new Marked(lock, fenced.mark(connection, lock.value()));
        });
    }

    /** The committed mark of the lock of that name, for people; empty: no call was admitted yet. */
    Optional<Marked> mark(String name) throws SQLException {
        LockName lock = new LockName(name);
        Mark mark = fenced.mark(lock.value());
        return mark.equals(Mark.NONE) ? Optional.empty() : Optional.of(new Marked(lock, mark));
    }

    private LockName lockOf(String key) {
        return template.lockOf(Texts.checked("object key", key, 1, KEY_BYTES_MAX));
    }

    private static void refuseNegative(OptionalLong ifVersion) {
        if (ifVersion.isPresent() && ifVersion.getAsLong() < 0) {
            throw RejectedException.malformed(
                    "if_version is " + ifVersion.getAsLong() + "; use the version that was read, or 0 for no object");
        }
    }

    private RejectedException tooLarge(String key, int bytes) {
        return new Rejection(
                        Reason.LIMIT_EXCEEDED,
                        "object '" + key + "' has " + bytes + " bytes, the most is " + limits.objectBytesMax()
                                + "; split it, or raise --object-bytes-max",
                        Map.of(Rejection.LIMIT, "object_bytes_max", Rejection.APPLIED, "no"))
                .asException();
    }

    private interface ObjectWork<T> {
        T run(Connection connection, @Nullable Sequencer sequencer) throws SQLException;
    }

    private <T> T guarded(Caller caller, LockName lock, Access access, ObjectWork<T> work) throws SQLException {
        if (!guardOn) {
            Sequencer sequencer = verifiedIfPossible(caller);
            return PlainTransaction.run(dataSource, connection -> work.run(connection, sequencer));
        }
        SignedSequencer signed = caller.signed();
        if (signed == null) {
            throw new Rejection(
                            Reason.SEQUENCER_MISSING,
                            "the call on '" + lock + "' carries no sequencer; send it in the sequencer-bin header",
                            Map.of(Rejection.LOCK, lock.value(), Rejection.APPLIED, "no"))
                    .asException();
        }
        Sequencer sequencer = verifier.verify(signed);
        FencedJdbc patient = fenced.withLockWait(
                caller.patience().compareTo(limits.lockWait()) < 0 ? caller.patience() : limits.lockWait());
        Work<T> guardedWork = connection -> work.run(connection, sequencer);
        return access == Access.WRITE
                ? patient.write(signed, Binding.of(lock), guardedWork)
                : patient.read(signed, Binding.of(lock), guardedWork);
    }

    /** With the guard off: for the record only, so one that cannot be verified is as good as none. */
    private @Nullable Sequencer verifiedIfPossible(Caller caller) {
        SignedSequencer signed = caller.signed();
        if (signed == null) {
            return null;
        }
        try {
            return verifier.verify(signed);
        } catch (RejectedException e) {
            return null;
        }
    }

    private <T> T plainRead(Work<T> work) throws SQLException {
        return PlainTransaction.run(dataSource, work);
    }
}
