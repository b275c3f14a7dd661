/**
 * The check of a fencing token inside S3, for services whose data is in a bucket: {@link
 * dev.palisade.guard.s3.FencedS3} keeps the mark in the object itself and writes it only over the version that was
 * compared.
 */
@NullMarked
package dev.palisade.guard.s3;

import org.jspecify.annotations.NullMarked;
