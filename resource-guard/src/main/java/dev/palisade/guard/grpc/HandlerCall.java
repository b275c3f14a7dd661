package dev.palisade.guard.grpc;

import io.grpc.ForwardingServerCall.SimpleForwardingServerCall;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.Status;

/**
 * The server call as its handler sees it. It records when the handler closes it. The guard may close it from another
 * thread while the handler is sending. The handler's first request gets the message that was read for the name of
 * the lock.
 */
final class HandlerCall<Q, R> extends SimpleForwardingServerCall<Q, R> {
    private final AdmissionScope scope;
    private final Runnable queueFirst;
    private final Runnable deliver;
    private boolean wantsFirst;
    private int ahead;
    private boolean closed;
    private volatile boolean stopped;

    /**
     * @param ahead messages that were requested of the transport before the handler requested any
     * @param queueFirst queues the first message for the handler; runs no code of the handler
     * @param deliver delivers queued messages to the handler
     */
    HandlerCall(ServerCall<Q, R> call, AdmissionScope scope, int ahead, Runnable queueFirst, Runnable deliver) {
        super(call);
        this.scope = scope;
        this.ahead = ahead;
        this.queueFirst = queueFirst;
        this.deliver = deliver;
    }

    /**
     * From now on the handler sees the call as cancelled, and {@link #end} closes it. Returns false when it is
     * closed already.
     */
    synchronized boolean stop() {
        if (closed || stopped) {
            return false;
        }
        stopped = true;
        return true;
    }

    /** Closes a call that was stopped. */
    synchronized void end(Status status, Metadata trailers) {
        delegate().close(status, trailers);
    }

    boolean isStopped() {
        return stopped;
    }

    /** Whether the handler closed the call, rather than the guard. */
    synchronized boolean isClosedByHandler() {
        return closed && !stopped;
    }

    @Override
    public void request(int messages) {
        int more;
        synchronized (this) {
            if (!wantsFirst && messages > 0) {
                wantsFirst = true;
                queueFirst.run();
            }
            int covered = Math.max(0, Math.min(messages, ahead));
            ahead -= covered;
            more = messages - covered;
        }
        deliver.run();
        if (!stopped && more != 0) {
            delegate().request(more);
        }
    }

    @Override
    public synchronized void sendHeaders(Metadata headers) {
        if (!stopped) {
            delegate().sendHeaders(headers);
        }
    }

    @Override
    public synchronized void sendMessage(R message) {
        if (!stopped) {
            delegate().sendMessage(message);
        }
    }

    @Override
    public void close(Status status, Metadata trailers) {
        try {
            synchronized (this) {
                closed = true;
                if (!stopped) {
                    delegate().close(status, trailers);
                }
            }
        } finally {
            scope.callClosed();
        }
    }

    @Override
    public boolean isReady() {
        return !stopped && delegate().isReady();
    }

    @Override
    public boolean isCancelled() {
        return stopped || delegate().isCancelled();
    }
}
