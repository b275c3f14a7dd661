package dev.palisade.guard.grpc;

import io.grpc.ForwardingServerCall.SimpleForwardingServerCall;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.Status;

/**
 * The call as its handler sees it. It notes when the handler closes it, lets the guard close it from another thread while
 * the handler is sending, and answers the handler's first request with the message that was read for its lock's name.
 */
final class HandlerCall<Q, R> extends SimpleForwardingServerCall<Q, R> {
    private final Stay stay;
    private final Runnable queueFirst;
    private final Runnable deliver;
    private boolean wantsFirst;
    private int ahead;
    private boolean closed;
    private volatile boolean stopped;

    /**
     * @param ahead messages that were asked of the transport before the handler asked for any
     * @param queueFirst puts the first message in line for the handler; runs nothing of the handler's
     * @param deliver lets what is in line go to the handler
     */
    HandlerCall(ServerCall<Q, R> call, Stay stay, int ahead, Runnable queueFirst, Runnable deliver) {
        super(call);
        this.stay = stay;
        this.ahead = ahead;
        this.queueFirst = queueFirst;
        this.deliver = deliver;
    }

    /** From now on the handler sees the call as cancelled, and {@link #end} closes it. False when it is closed already. */
    synchronized boolean stop() {
        if (closed || stopped) {
            return false;
        }
        stopped = true;
        return true;
    }

    /** Tells the caller of a call that was stopped. */
    synchronized void end(Status status, Metadata trailers) {
        delegate().close(status, trailers);
    }

    boolean isStopped() {
        return stopped;
    }

    /** Not stopped before, and nobody else closed it. */
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
            stay.closed();
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
