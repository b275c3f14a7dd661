package dev.palisade.guard;

import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.guard.MarkStore.StoredMark;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** A {@link Change} as bytes. Refuses bytes that are no change; whether they are the right ones is the file's checksums' business. */
final class ChangeCodec {
    private static final byte PUT = 1;
    private static final byte BASE = 2;
    private static final byte STATE = 3;
    private static final byte IDENTITY = 4;
    private static final byte FORGET = 5;
    private static final byte REGISTRATION = 6;

    private ChangeCodec() {}

    static void write(Change change, DataOutputStream out) throws IOException {
        if (change instanceof Change.Put put) {
            StoredMark stored = put.mark();
            GrantId grant = stored.mark().exclusiveGrant();
            out.writeByte(PUT);
            out.writeUTF(stored.resource());
            out.writeUTF(stored.issuer());
            out.writeUTF(stored.lock().value());
            out.writeLong(stored.mark().exclusiveToken());
            out.writeLong(grant == null ? 0 : grant.high());
            out.writeLong(grant == null ? 0 : grant.low());
            out.writeLong(stored.mark().sharedToken());
            out.writeLong(stored.raisedAtMillis());
        } else if (change instanceof Change.Base raised) {
            out.writeByte(BASE);
            out.writeUTF(raised.base().issuer());
            out.writeInt(raised.base().domain());
            out.writeLong(raised.base().token());
            out.writeInt(raised.dropped().size());
            for (String resource : raised.dropped()) {
                out.writeUTF(resource);
            }
        } else if (change instanceof Change.State state) {
            out.writeByte(STATE);
            out.writeBoolean(state.complete());
            out.writeBoolean(state.closedInOrder());
        } else if (change instanceof Change.Identity identity) {
            out.writeByte(IDENTITY);
            out.writeUTF(identity.id());
        } else if (change instanceof Change.Forget) {
            out.writeByte(FORGET);
        } else if (change instanceof Change.Registration registration) {
            out.writeByte(REGISTRATION);
            out.writeUTF(registration.name());
            out.writeLong(registration.token());
        }
    }

    /** @throws IOException or a RuntimeException when there is no change to be read */
    static Change read(DataInputStream in) throws IOException {
        byte kind = in.readByte();
        return switch (kind) {
            case PUT -> {
                String resource = in.readUTF();
                String issuer = in.readUTF();
                LockName lock = new LockName(in.readUTF());
                long token = in.readLong();
                GrantId grant = new GrantId(in.readLong(), in.readLong());
                Mark mark = new Mark(token, token == 0 ? null : grant, in.readLong());
                yield new Change.Put(new StoredMark(resource, issuer, lock, mark, in.readLong()));
            }
            case BASE -> {
                BaseMark base = new BaseMark(in.readUTF(), in.readInt(), in.readLong());
                List<String> dropped = new ArrayList<>();
                for (int left = in.readInt(); left > 0; left--) {
                    dropped.add(in.readUTF());
                }
                yield new Change.Base(base, dropped);
            }
            case STATE -> new Change.State(in.readBoolean(), in.readBoolean());
            case IDENTITY -> new Change.Identity(in.readUTF());
            case FORGET -> new Change.Forget();
            case REGISTRATION -> new Change.Registration(in.readUTF(), in.readLong());
            default -> throw new IOException("no such kind of change: " + kind);
        };
    }
}
