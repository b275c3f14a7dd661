package dev.palisade.cli;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A capture of what one thread prints, while other threads of the test run print too. Until {@link #close}. */
final class ThreadOutput implements AutoCloseable {
    private static final ThreadLocal<@Nullable ThreadOutput> CURRENT = new ThreadLocal<>();

    static {
        System.setOut(new PrintStream(new Dispatch(System.out, false), true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(new Dispatch(System.err, true), true, StandardCharsets.UTF_8));
    }

    private final ByteArrayOutputStream out = new ByteArrayOutputStream();
    private final ByteArrayOutputStream err = new ByteArrayOutputStream();

    private ThreadOutput() {}

    static ThreadOutput capture() {
        ThreadOutput output = new ThreadOutput();
        CURRENT.set(output);
        return output;
    }

    /** The lines of standard output. */
    List<String> out() {
        return out.toString(StandardCharsets.UTF_8).lines().toList();
    }

    /** The lines of standard error. */
    List<String> err() {
        return err.toString(StandardCharsets.UTF_8).lines().toList();
    }

    @Override
    public void close() {
        CURRENT.remove();
    }

    /** A stream to the capture of the writing thread; without one, to the stream that was there before. */
    private static final class Dispatch extends OutputStream {
        private final PrintStream before;
        private final boolean isErr;

        Dispatch(PrintStream before, boolean isErr) {
            this.before = before;
            this.isErr = isErr;
        }

        private OutputStream stream() {
            ThreadOutput current = CURRENT.get();
            return current == null ? before : isErr ? current.err : current.out;
        }

        @Override
        public void write(int one) throws IOException {
            stream().write(one);
        }

        @Override
        public void write(byte[] bytes, int from, int length) throws IOException {
            stream().write(bytes, from, length);
        }

        @Override
        public void flush() throws IOException {
            stream().flush();
        }
    }
}
