package dev.palisade.contract.grpc;

import io.grpc.ForwardingServerCallListener.SimpleForwardingServerCallListener;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import java.util.concurrent.TimeUnit;

/**
 * Counts the calls of the services it is put before, so that a server that stops can wait for their answers without waiting
 * for those who watch its health, which never end by themselves. Decides nothing. Safe for use by many threads.
 */
public final class CallsInFlight implements ServerInterceptor {
    private int inFlight;

    @Override
    public <A, B> ServerCall.Listener<A> interceptCall(
            ServerCall<A, B> call, Metadata headers, ServerCallHandler<A, B> next) {
        began();
        ServerCall.Listener<A> listener;
        try {
            listener = next.startCall(call, headers);
        } catch (RuntimeException | Error e) {
            ended();
            throw e;
        }
        return new SimpleForwardingServerCallListener<>(listener) {
            @Override
            public void onComplete() {
                ended();
                super.onComplete();
            }

            @Override
            public void onCancel() {
                ended();
                super.onCancel();
            }
        };
    }

    private synchronized void began() {
        inFlight++;
    }

    private synchronized void ended() {
        inFlight--;
        notifyAll();
    }

    /** Returns when every call was answered or cancelled, or the time is over; true unless the time is over. */
    public synchronized boolean awaitNone(long timeout, TimeUnit unit) throws InterruptedException {
        long deadline = System.nanoTime() + unit.toNanos(timeout);
        while (inFlight > 0) {
            long left = deadline - System.nanoTime();
            if (left <= 0) {
                return false;
            }
            TimeUnit.NANOSECONDS.timedWait(this, left);
        }
        return true;
    }
}
