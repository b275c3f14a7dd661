package dev.palisade.seeded.rpc;

import io.netty.channel.EventLoop;

/** Seeded violation. */
public final class KnowsNetty {
    static boolean isHere(EventLoop loop) {
        return loop.inEventLoop();
    }
}
