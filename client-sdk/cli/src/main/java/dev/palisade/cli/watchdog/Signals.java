package dev.palisade.cli.watchdog;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.util.function.Consumer;

/**
 * Signals to this process. The JDK's class for that is not part of Java's standard, and naming it in a source is an error in our build,
 * so it is found by name; where it is missing signals do what they always do.
 */
public final class Signals {
    private Signals() {}

    /** Has {@code listener} told of the signal by its name, such as TERM; one that is ignored already, as under nohup, stays ignored. */
    public static void hear(String name, Consumer<String> listener) {
        try {
            Class<?> signal = Class.forName("sun.misc.Signal");
            Class<?> handler = Class.forName("sun.misc.SignalHandler");
            InvocationHandler tells = (proxy, method, arguments) -> {
                if (method.getName().equals("handle")) {
                    listener.accept(name);
                }
                return null;
            };
            Object ours = Proxy.newProxyInstance(Signals.class.getClassLoader(), new Class<?>[] {handler}, tells);
            Object of = signal.getConstructor(String.class).newInstance(name);
            var handle = signal.getMethod("handle", signal, handler);
            Object before = handle.invoke(null, of, ours);
            Object ignored = handler.getField("SIG_IGN").get(null);
            if (before == ignored) {
                handle.invoke(null, of, ignored);
            }
        } catch (ReflectiveOperationException e) {
            // Another JVM than OpenJDK's: it ends by the signal, and the watchdog ends the command.
            return;
        }
    }
}
