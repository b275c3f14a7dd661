package dev.palisade.docs;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.Sequencer;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.contract.crypto.KeysetFile;
import java.io.IOException;
import java.nio.file.Path;

/** Program of a page's reader, with its data store: runs the code and the SQL that the page shows, and checks what they do. */
interface ReaderProgram extends AutoCloseable {
    /** Of pages whose code other tests run. */
    ReaderProgram NONE = new ReaderProgram() {
        @Override
        public void run(String example, PageTerminal terminal) {}

        @Override
        public void sql(String statement) {}
    };

    /** @param example path of the source file, of which the page shows the marked part */
    void run(String example, PageTerminal terminal) throws Exception;

    void sql(String statement) throws Exception;

    /** Address of the service in pages with one at port 8080; empty for one of the terminal's. */
    default String service() {
        return "";
    }

    @Override
    default void close() throws IOException {}

    /** The sequencer of an EXCLUSIVE grant, signed with that keyset, which is made where there is none. */
    static SignedSequencer signed(Path keyset, String lock, long token) throws IOException {
        return KeysetFile.openOrCreate(keyset)
                .sign(new Sequencer(
                        "palisade",
                        new LockName(lock),
                        Mode.EXCLUSIVE,
                        new FencingToken(token),
                        new GrantId(7, token),
                        0));
    }

    static IllegalArgumentException unknown(String block) {
        return new IllegalArgumentException("no test runs this block of the guide: " + block);
    }
}
