package dev.palisade.client;

import com.google.protobuf.ByteString;
import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.HolderInfo;
import dev.palisade.contract.LockName;
import dev.palisade.contract.LostReason;
import dev.palisade.contract.Mode;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.contract.grpc.Rejections;
import dev.palisade.proto.v1.Busy;
import dev.palisade.proto.v1.ClientFrame;
import dev.palisade.proto.v1.DescribeReply;
import dev.palisade.proto.v1.Epoch;
import dev.palisade.proto.v1.Granted;
import dev.palisade.proto.v1.Hello;
import dev.palisade.proto.v1.HistoryEntry;
import dev.palisade.proto.v1.Holder;
import dev.palisade.proto.v1.ListedSession;
import dev.palisade.proto.v1.LocksGrpc;
import dev.palisade.proto.v1.Rejected;
import dev.palisade.proto.v1.ReleaseRequest;
import dev.palisade.proto.v1.ServerFrame;
import dev.palisade.proto.v1.SharedLog;
import dev.palisade.proto.v1.Standby;
import dev.palisade.proto.v1.StoreReply;
import dev.palisade.proto.v1.Waiter;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;

/**
 * A mapper between protobuf messages and values. Readers throw {@link RejectedException} for messages that no server
 * may send, so the other classes never see a malformed value.
 */
final class ProtoMapper {
    private static final long TTL_MILLIS_MAX = Duration.ofDays(1).toMillis();

    private ProtoMapper() {}

    /** Loads the classes of the session's frames and of what they need of gRPC and protobuf. */
    static void load() {
        ClientFrame hello = ClientFrame.newBuilder()
                .setHello(Hello.newBuilder().setOwner(""))
                .build();
        int unused =
                hello.toByteString().size() + ServerFrame.getDefaultInstance().getSerializedSize();
        LocksGrpc.getServiceDescriptor();
    }

    static dev.palisade.proto.v1.Mode mode(Mode mode) {
        return mode == Mode.EXCLUSIVE ? dev.palisade.proto.v1.Mode.EXCLUSIVE : dev.palisade.proto.v1.Mode.SHARED;
    }

    private static Mode mode(dev.palisade.proto.v1.Mode mode) {
        return switch (mode) {
            case EXCLUSIVE -> Mode.EXCLUSIVE;
            case SHARED -> Mode.SHARED;
            case MODE_UNSPECIFIED, UNRECOGNIZED -> throw RejectedException.malformed("the server named no mode");
        };
    }

    /** @throws RejectedException when it is malformed or not what was asked for */
    static Grant grant(Granted granted, LockName lock, Mode mode, Duration lockAtLeastFor) {
        if (!granted.getLock().equals(lock.value()) || mode(granted.getMode()) != mode) {
            throw RejectedException.malformed("asked for " + lock + " " + mode + ", the server granted "
                    + granted.getLock() + " " + granted.getMode());
        }
        if (granted.getLockAtLeastForMillis() != lockAtLeastFor.toMillis()) {
            throw RejectedException.malformed(
                    "asked for lockAtLeastFor " + lockAtLeastFor.toMillis() + " ms, the server granted "
                            + granted.getLockAtLeastForMillis() + " ms; an older one does not know it");
        }
        FencingToken token = new FencingToken(granted.getToken());
        GrantId id = grantId(granted.getGrantId());
        int turns = granted.getTurnsCount();
        if (turns > 0
                && (turns >= FencingToken.PER_GRANT || id.turn() != 0 || token.value() > FencingToken.MAX - turns)) {
            throw RejectedException.malformed(
                    "the server granted " + turns + " turns after that of token " + token + " and grant " + id);
        }
        return new Grant(
                lock,
                mode,
                token,
                id,
                ttlMillis(granted.getTtlMillis()),
                SignedSequencer.of(granted.getSequencer().toByteArray()),
                granted.getTurnsList().stream()
                        .map(turn -> SignedSequencer.of(turn.toByteArray()))
                        .toList());
    }

    static GrantId grantId(ByteString bytes) {
        return GrantId.of(bytes.toByteArray());
    }

    static ByteString bytes(GrantId id) {
        return ByteString.copyFrom(id.toBytes());
    }

    static long ttlMillis(long value) {
        if (value < 1 || value > TTL_MILLIS_MAX) {
            throw RejectedException.malformed("the server named a ttl of " + value + " ms");
        }
        return value;
    }

    /** A release of the grant, also if the rest of the message is malformed. */
    static ReleaseRequest release(Granted granted) {
        return ReleaseRequest.newBuilder()
                .setLock(granted.getLock())
                .setGrantId(granted.getGrantId())
                .setToken(granted.getToken())
                .build();
    }

    static Rejection rejection(Rejected rejected) {
        return new Rejection(Rejections.reason(rejected.getReason()), rejected.getMessage(), rejected.getMetadataMap());
    }

    static AcquireResult.Busy busy(Busy busy) {
        Optional<HolderInfo> holder = busy.hasHolder() ? Optional.of(holder(busy.getHolder())) : Optional.empty();
        return new AcquireResult.Busy(
                holder,
                Duration.ofMillis(busy.getRemainingMillis()),
                Duration.ofMillis(busy.getMinimumHoldRemainingMillis()),
                busy.getWaiters());
    }

    static LockDescription description(DescribeReply reply) {
        return new LockDescription(
                new LockName(reply.getLock()),
                reply.getHoldersList().stream().map(ProtoMapper::holder).toList(),
                reply.getHoldersTotal(),
                reply.getWaitersList().stream().map(ProtoMapper::waiter).toList(),
                reply.getWaitersTotal(),
                Duration.ofMillis(reply.getLockDelayRemainingMillis()),
                Duration.ofMillis(reply.getMinimumHoldRemainingMillis()),
                reply.hasEpoch() ? Optional.of(epoch(reply.getEpoch())) : Optional.empty());
    }

    static StoreDescription store(StoreReply reply) {
        return new StoreDescription(
                reply.getKind(),
                reply.getWhere(),
                reply.getUp(),
                Instant.ofEpochMilli(reply.getSinceEpochMillis()),
                reply.getWhy(),
                reply.hasEpoch() ? Optional.of(epoch(reply.getEpoch())) : Optional.empty(),
                reply.hasLog() ? Optional.of(log(reply.getLog())) : Optional.empty(),
                reply.getStandby());
    }

    private static StoreDescription.SharedLog log(SharedLog log) {
        return new StoreDescription.SharedLog(
                log.getActive(),
                log.getWriter(),
                log.getBatch(),
                log.getTerm(),
                Duration.ofMillis(log.getClaimMillis()),
                Duration.ofMillis(log.getClaimRemainingMillis()),
                log.getTakenOverAtEpochMillis() == 0
                        ? Optional.empty()
                        : Optional.of(new StoreDescription.Takeover(
                                Instant.ofEpochMilli(log.getTakenOverAtEpochMillis()),
                                log.getTakenOverWhy(),
                                Optional.of(log.getTakenOverFrom()).filter(from -> !from.isEmpty()))),
                log.getStandbysList().stream().map(ProtoMapper::standby).toList());
    }

    private static StoreDescription.Standby standby(Standby standby) {
        return new StoreDescription.Standby(
                standby.getAddress(),
                Instant.ofEpochMilli(standby.getSinceEpochMillis()),
                Instant.ofEpochMilli(standby.getLastSeenEpochMillis()));
    }

    private static StoreDescription.Epoch epoch(Epoch epoch) {
        return new StoreDescription.Epoch(
                epoch.getBaseToken(),
                Instant.ofEpochMilli(epoch.getBeganAtEpochMillis()),
                epoch.getWhy(),
                Duration.ofMillis(epoch.getRecoveringMillis()),
                Duration.ofMillis(epoch.getAheadMillis()));
    }

    static SessionDescription session(ListedSession session) {
        return new SessionDescription(
                session.getSession(),
                session.getOwner(),
                session.getPrincipal(),
                session.getSessionGen(),
                session.getConnected(),
                Instant.ofEpochMilli(session.getConnectedAtEpochMillis()),
                Duration.ofMillis(session.getHeardMillisAgo()),
                session.getLeases(),
                session.getWaiting(),
                session.getKeepLeasesOnDisconnect());
    }

    static Operations.HistoryEntry historyEntry(HistoryEntry entry) {
        return new Operations.HistoryEntry(
                Instant.ofEpochMilli(entry.getAtEpochMillis()),
                entry.getWhat(),
                entry.getToken() == 0 ? Optional.empty() : Optional.of(new FencingToken(entry.getToken())),
                grantId(entry.getGrantId()),
                entry.getOwner(),
                entry.getDetail(),
                entry.getCause(),
                entry.getAfterGap());
    }

    private static HolderInfo holder(Holder holder) {
        return new HolderInfo(
                holder.getOwner(),
                holder.getPurpose(),
                new FencingToken(holder.getToken()),
                mode(holder.getMode()),
                Duration.ofMillis(holder.getHeldMillis()),
                Duration.ofMillis(holder.getRemainingMillis()),
                holder.getSession(),
                holder.getPrincipal());
    }

    private static LockDescription.Waiter waiter(Waiter waiter) {
        return new LockDescription.Waiter(
                waiter.getOwner(),
                waiter.getPurpose(),
                mode(waiter.getMode()),
                Duration.ofMillis(waiter.getWaitedMillis()),
                waiter.getOffered(),
                waiter.getSession(),
                waiter.getPrincipal());
    }

    static LostReason lostReason(dev.palisade.proto.v1.LostReason reason) {
        return switch (reason) {
            case LOST_EXPIRED -> LostReason.EXPIRED;
            case LOST_ABANDONED -> LostReason.ABANDONED;
            case LOST_FORCE_RELEASED -> LostReason.FORCE_RELEASED;
            case LOST_UNKNOWN, LOST_REASON_UNSPECIFIED, UNRECOGNIZED -> LostReason.UNKNOWN_TO_SERVER;
        };
    }

    /** The loss that a refused resume, renew or accept stands for. */
    static LostReason lostReason(Rejection rejection) {
        if (rejection.reason() != dev.palisade.contract.Reason.LEASE_EXPIRED) {
            return LostReason.UNKNOWN_TO_SERVER;
        }
        return switch (rejection.metadata().getOrDefault(Rejection.ENDED, "")) {
            case "ABANDONED" -> LostReason.ABANDONED;
            case "FORCE_RELEASED" -> LostReason.FORCE_RELEASED;
            default -> LostReason.EXPIRED;
        };
    }

    /** Operator and reason of a forced release; empty for any other end. */
    static String lostDetail(Rejection rejection) {
        return rejection.metadata().getOrDefault(Rejection.DETAIL, "");
    }
}
