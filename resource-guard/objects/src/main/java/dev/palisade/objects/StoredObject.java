package dev.palisade.objects;

import com.google.protobuf.ByteString;

/**
 * One object as it lies in the table.
 *
 * @param version of the latest write, deletion included; 1 or more
 * @param token of the grant that wrote it; 0: unguarded
 * @param grantHex that grant in hexadecimal digits; empty: unguarded
 */
record StoredObject(String key, ByteString content, long sizeBytes, long version, long token, String grantHex) {}
