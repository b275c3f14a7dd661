/** What the server measures, and how Prometheus reads it. The only package that knows Micrometer; without an admin port it is not loaded. */
@NullMarked
package dev.palisade.server.metrics;

import org.jspecify.annotations.NullMarked;
