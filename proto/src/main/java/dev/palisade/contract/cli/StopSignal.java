package dev.palisade.contract.cli;

import java.lang.reflect.Proxy;
import java.util.List;
import java.util.concurrent.CountDownLatch;

/**
 * How a service is asked to stop: the first SIGTERM, SIGINT or SIGHUP lets it drain, a second one ends the process at
 * once. In place of a shutdown hook, in which a second signal is not heard and the exit code is the signal's.
 */
public final class StopSignal {
    /** Exit code of a process that was not given the time to drain: what an undisturbed JVM says after SIGTERM. */
    public static final int AT_ONCE = 143;

    private final CountDownLatch first = new CountDownLatch(1);

    private StopSignal() {}

    /**
     * Takes the signals over from the JVM. Once in a process.
     *
     * @throws IllegalStateException when this JVM hands no signals out: it was started with {@code -Xrs}, or lacks the module
     *     jdk.unsupported
     */
    public static StopSignal listen() {
        StopSignal stop = new StopSignal();
        try {
            // By reflection: the compiler warns of these names, which cannot be turned off for one file.
            Class<?> signal = Class.forName("sun.misc.Signal");
            Class<?> handler = Class.forName("sun.misc.SignalHandler");
            Object heard = Proxy.newProxyInstance(
                    StopSignal.class.getClassLoader(), new Class<?>[] {handler}, (proxy, method, arguments) -> {
                        if (method.getName().equals("handle")) {
                            stop.heard();
                        }
                        return null;
                    });
            for (String name : List.of("TERM", "INT", "HUP")) {
                signal.getMethod("handle", signal, handler)
                        .invoke(null, signal.getConstructor(String.class).newInstance(name), heard);
            }
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(
                    "cannot listen for SIGTERM; start without -Xrs, on a Java with the module jdk.unsupported", e);
        }
        return stop;
    }

    /** Returns when the process is asked to stop. */
    public void await() throws InterruptedException {
        first.await();
    }

    private synchronized void heard() {
        if (first.getCount() == 0) {
            ShutdownOutput.print(System.err, "palisade: asked to stop a second time, stopping at once");
            Runtime.getRuntime().halt(AT_ONCE);
        }
        first.countDown();
    }
}
