package dev.palisade.gateway;

import dev.palisade.contract.LockName;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.guard.LockService;
import dev.palisade.guard.grpc.GrpcLockService;
import io.grpc.ChannelCredentials;
import io.grpc.Grpc;
import io.grpc.ManagedChannel;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;

/**
 * The lock servers of one lock service, one of which is asked at a time: the next one from the next request on when
 * one fails. Each request is sent once; the guard repeats it. Safe for use by several threads.
 */
final class LockServerList implements LockService, AutoCloseable {
    private final List<ManagedChannel> channels;
    private final List<GrpcLockService> services;
    private final AtomicInteger current = new AtomicInteger();

    /** @param addresses {@code host:port}, one or more */
    LockServerList(List<String> addresses, ChannelCredentials credentials, String issuer) {
        channels = addresses.stream()
                .map(address ->
                        Grpc.newChannelBuilder("dns:///" + address, credentials).build())
                .toList();
        services = channels.stream()
                .map(channel -> GrpcLockService.at(channel, issuer))
                .toList();
    }

    private <T> CompletionStage<T> ask(Function<LockService, CompletionStage<T>> question) {
        int index = current.get();
        return question.apply(services.get(index)).whenComplete((reply, failure) -> {
            if (failure != null) {
                current.compareAndSet(index, (index + 1) % services.size());
            }
        });
    }

    @Override
    public CompletionStage<Long> barrier(LockName lock) {
        return ask(service -> service.barrier(lock));
    }

    @Override
    public CompletionStage<Boolean> isAlive(SignedSequencer sequencer) {
        return ask(service -> service.isAlive(sequencer));
    }

    @Override
    public CompletionStage<LeaseReply> tryAcquire(LeaseRequest request) {
        return ask(service -> service.tryAcquire(request));
    }

    @Override
    public CompletionStage<Void> renew(LeaseReply.Granted lease) {
        return ask(service -> service.renew(lease));
    }

    @Override
    public CompletionStage<List<Long>> recentTokens(LockName lock) {
        return ask(service -> service.recentTokens(lock));
    }

    @Override
    public CompletionStage<Void> release(LeaseReply.Granted lease) {
        return ask(service -> service.release(lease));
    }

    @Override
    public CompletionStage<Boolean> reportRefusals(String guard, List<RefusedCalls> refused) {
        return ask(service -> service.reportRefusals(guard, refused));
    }

    @Override
    public void close() {
        channels.forEach(ManagedChannel::shutdownNow);
    }
}
